import type { ProviderNotes } from './notes.ts'

export const NOTES: ProviderNotes = {
  name: 'PayPal',
  setUp: [
    'In the developer dashboard, add a webhook with the URL of the source to your app.',
    'Give its id as `webhookId`. There is no secret: PayPal signs with its certificate.',
  ],
  traps: [
    'Only a CRC-32 of the body is signed, and whoever has one signed request can write another body with the same. Where money hangs on an event, read it again through the API.',
    'There is no time window by default, because a retry’s time is not documented. Set `toleranceSeconds` to have one.',
    'The webhooks simulator signs with the id `WEBHOOK_ID`. Never give that one to a source that matters: anybody can use the simulator.',
    'The certificate is fetched from `api.paypal.com`, `api-m.paypal.com` and their sandboxes only, must be PayPal’s by its name and valid at the time. Give `certificateRoots` to have its chain checked as well.',
  ],
  exampleOptions: `webhookId: process.env['PAYPAL_WEBHOOK_ID'] ?? '',`,
}
