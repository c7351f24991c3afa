import type { ProviderNotes } from './notes.ts'

export const NOTES: ProviderNotes = {
  name: 'CircleCI',
  setUp: [
    'In the project’s settings under **Webhooks**, add the URL of the source and a secret token. Without one nothing is signed, and every delivery is refused.',
  ],
  traps: [
    'The signature’s header is a list of versions, not of secrets: only `v1` is looked at.',
    'No time is signed beside the event’s own: a request that was seen can be sent again, and is a duplicate.',
    'A test from its page is stored as an event of the type `ping`.',
  ],
}
