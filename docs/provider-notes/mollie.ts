import type { ProviderNotes } from './notes.ts'

export const NOTES: ProviderNotes = {
  name: 'Mollie',
  setUp: [
    'In the dashboard or through the API, create a webhook (next generation) with the URL of the source, and copy its signing secret.',
    'For classic webhooks (`webhookUrl` of a payment), set `classic: true`.',
  ],
  traps: [
    'Classic webhooks are unsigned and say only the id of an object. They are refused unless you set `classic`; then every call is an event of the type `classic`, retries included. In its handler, read the object through the API and act on what has changed.',
    'The id in a classic call is not an event’s: a payment that is paid and later refunded is called with the same.',
  ],
  key: '`id`; for classic calls the id and when it came',
  type: '`type`; `classic` for classic calls',
}
