import type { ProviderNotes } from './notes.ts'

export const NOTES: ProviderNotes = {
  name: 'GitHub',
  setUp: [
    'In the repository’s or organisation’s settings, add a webhook with the URL of the source and a secret.',
  ],
  traps: [
    'GitHub does not retry by itself; a lost delivery is lost unless you redeliver it.',
    'The delivery id and the event’s name are not signed. The same body under another id is quarantined.',
  ],
}
