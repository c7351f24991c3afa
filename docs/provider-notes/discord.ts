import type { ProviderNotes } from './notes.ts'

export const NOTES: ProviderNotes = {
  name: 'Discord',
  setUp: [
    'Copy the public key from the application’s **General Information**.',
    'Enter the URL of the source under **Webhooks**, or as the **Interactions Endpoint URL**. Discord sends a ping, which is answered.',
  ],
  traps: [
    'Discord sends wrongly signed requests on purpose; they are refused with 401, as it wants.',
    'Stricter than Discord’s own library, which asks for no window: what is older than an hour is `quarantined`, kept and not run.',
    'An interaction wants its answer in the response. A source answers that it was received; reply through the interaction’s token.',
  ],
  key: 'for webhook events type, time and the id inside; for interactions `id`',
  type: '`event.type`; for interactions `interaction.` and the number of their type',
}
