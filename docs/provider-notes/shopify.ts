import type { ProviderNotes } from './notes.ts'

export const NOTES: ProviderNotes = {
  name: 'Shopify',
  setUp: ['Subscribe the URL of the source to topics. The secret is the app’s client secret.'],
  traps: [
    'Two subscriptions to one topic deliver each event twice, under one event id.',
    'Test notifications from the store’s settings are signed with another secret.',
    'All that identifies an event is in unsigned headers. The same body under another id is quarantined.',
  ],
  key: '`x-shopify-event-id` (or the webhook id) within shop and topic',
  type: '`x-shopify-topic`',
}
