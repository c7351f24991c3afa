import type { ProviderNotes } from './notes.ts'

export const NOTES: ProviderNotes = {
  name: 'Vercel',
  setUp: [
    'In the team’s settings under **Webhooks**, add the URL of the source, and copy the secret that is shown once. For an integration, the secret is its client secret.',
  ],
  traps: [
    'The signature is HMAC-SHA1, and no time of sending is signed: a request that was seen can be sent again, and is a duplicate.',
    'Log drains have the same header and are no webhooks: their handshake is not answered.',
  ],
}
