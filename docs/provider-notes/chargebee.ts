import type { ProviderNotes } from './notes.ts'

export const NOTES: ProviderNotes = {
  name: 'Chargebee',
  setUp: [
    'Under **Configure Chargebee**, **Webhooks**, enter the URL of the source and turn on basic authentication.',
    'Give `username` and `password`, or both as one secret: `username:password`.',
  ],
  traps: [
    'Nothing is signed. Where money hangs on an event, read the object again through the API.',
  ],
}
