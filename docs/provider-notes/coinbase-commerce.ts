import type { ProviderNotes } from './notes.ts'

export const NOTES: ProviderNotes = {
  name: 'Coinbase Commerce',
  setUp: [
    'Under **Settings**, **Notifications**, add an endpoint with the URL of the source, and copy the webhook shared secret.',
  ],
  traps: [
    'The `id` at the top of the body is the attempt’s, and new in each. The event’s is `event.id`.',
    'Coinbase is replacing Commerce with the payment links of Coinbase Business, which have other webhooks.',
  ],
}
