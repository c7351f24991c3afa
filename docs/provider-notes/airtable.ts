import type { ProviderNotes } from './notes.ts'

export const NOTES: ProviderNotes = {
  name: 'Airtable',
  setUp: [
    'Create a webhook through the API, with the URL of the source as its `notificationUrl`.',
    'The secret is the `macSecretBase64` of the answer, as it is; it is shown once. Every webhook has its own, and all of them may be `secrets` of one source.',
  ],
  traps: [
    'A delivery is a ping without any change in it. Read the payloads from the cursor you keep, and go on while `mightHaveMore` is true: there are at most fifty in an answer.',
    'A ping has no id. Its time is part of the key, so that none is taken for another; a ping too many reads nothing new. To do a change once, know it by its `baseTransactionNumber`.',
    'A webhook made with a token ends after seven days unless it is refreshed, and payloads are kept for seven days.',
    'After failed deliveries Airtable turns the notifications off, and they must be turned on again.',
  ],
  type: 'always `ping`',
}
