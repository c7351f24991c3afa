import type { ProviderNotes } from './notes.ts'

export const NOTES: ProviderNotes = {
  name: 'Intercom',
  setUp: [
    'In the Developer Hub, under **Configure**, **Webhooks** of your app, enter the URL of the source and choose topics. Intercom asks with a HEAD, which is answered.',
    'The secret is the app’s client secret, from **Basic information**.',
  ],
  traps: [
    'The signature is HMAC-SHA-1, and no time is signed.',
    'Intercom retries once, after a minute. An answer of 410 ends the subscription.',
    'Counters in the body (`delivery_attempts`, `first_sent_at`) differ between attempts and are no part of the content.',
  ],
}
