import type { ProviderNotes } from './notes.ts'

export const NOTES: ProviderNotes = {
  name: 'GitHub',
  setUp: [
    'In the repository’s or organisation’s settings, add a webhook with the URL of the source and a secret.',
  ],
  traps: [
    'GitHub does not retry by itself; a lost delivery is lost unless you redeliver it.',
    'GitHub sends up to 25 MB. A larger body than `bodyBytesMax` is answered 413, and GitHub does not send it again: it stands as failed under **Recent Deliveries**, from where you can redeliver it once the limit is raised. A limit of a proxy in front of the source does the same.',
    'The delivery id and the event’s name are not signed. The same body under another id is quarantined.',
  ],
}
