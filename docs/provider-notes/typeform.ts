import type { ProviderNotes } from './notes.ts'

export const NOTES: ProviderNotes = {
  name: 'Typeform',
  setUp: [
    'In the form, under **Connect**, **Webhooks**, add the URL of the source. Edit it, enter a secret and turn it on.',
  ],
  traps: [
    'Without a secret nothing is signed, and everything is refused.',
    'An answer of 404 or 410 switches the webhook off at once: the source must exist before the webhook does, and keep its name.',
    'Partial responses repeat the `token` of their response. Each has an `event_id` of its own.',
  ],
}
