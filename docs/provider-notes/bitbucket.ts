import type { ProviderNotes } from './notes.ts'

export const NOTES: ProviderNotes = {
  name: 'Bitbucket',
  setUp: [
    'In the repository’s settings under **Webhooks**, add the URL of the source and a secret. Without a secret nothing is signed, and every delivery is refused.',
  ],
  traps: [
    'The id and the name of the event are not signed. The same body under another id is quarantined.',
    'That `x-request-uuid` stays the same from one attempt to the next is expected, and not documented. Were it not, the retry would be quarantined and not run twice.',
    '`x-hook-uuid` is the webhook’s id and no event’s.',
    'A payload beyond 256 KB is never sent, and Bitbucket does not tell you.',
    'Connect apps get a token in `authorization` in place of the signature, which is not taken.',
  ],
}
