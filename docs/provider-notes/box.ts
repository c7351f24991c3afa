import type { ProviderNotes } from './notes.ts'

export const NOTES: ProviderNotes = {
  name: 'Box',
  setUp: [
    'In the developer console, under **Webhooks**, **Manage signature keys**, make a primary and a secondary key.',
    'Give both, the primary first. Create the webhook (V2) with the URL of the source.',
  ],
  traps: [
    'A time ahead of our clock is refused, as by Box’s own library: keep the clock right.',
    'The primary key counts for its own header only, and so does the secondary. To rotate, change one, and the other a while later.',
    '`box-delivery-id` is new for every attempt; the event is known by the `id` in the body.',
    '`WEBHOOK.DELETED` and `NO_ACTIVE_SESSION` are about the webhook itself.',
  ],
  key: '`id` in the body',
}
