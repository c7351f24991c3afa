import type { ProviderNotes } from './notes.ts'

export const NOTES: ProviderNotes = {
  name: 'Cal.com',
  setUp: [
    'Under **Settings**, **Developer**, **Webhooks**, add a webhook with the URL of the source and a secret.',
    'Leave the payload template as it is.',
  ],
  traps: [
    'Without a secret the signature is the text `no-secret-provided`. It is refused, as it must be.',
    'Cal.com does not retry, nor look at the answer. An instance that sends through its queue may; `createdAt` then stays the same.',
    'A payload template of your own must keep `triggerEvent`, `createdAt` and `payload.uid`. Without them there is no key, and the event is kept for a person.',
  ],
  key: '`triggerEvent`, the booking’s `uid` (or a hash of the payload) and `createdAt`',
}
