import type { ProviderNotes } from './notes.ts'

export const NOTES: ProviderNotes = {
  name: 'PayPal',
  setUp: [
    'In the developer dashboard, add a webhook with the URL of the source to your app.',
    'Give its id as `webhookId`. There is no secret: PayPal signs with its certificate.',
  ],
  traps: [
    'Only a CRC-32 of the body is signed, and a person with one signed request can write another body with the same CRC. A transmission id that comes again with another body is a `conflict`, kept and not run. Where money hangs on an event, read it again through the API.',
    'PayPal retries for three days and does not say whether a retry has a time of its own. What is older is `quarantined`: it is kept, and does not run. If it is genuine, resend it from the dashboard; with a fresh time it runs.',
    'The webhooks simulator signs with the id `WEBHOOK_ID`. Never give that one to a source that matters: the simulator is open to every stranger.',
    'Stricter than PayPal’s libraries: the time window, the conflict of two bodies under one transmission, and no SHA-1.',
    'The certificate is fetched from `api.paypal.com`, `api-m.paypal.com` and their sandboxes only, must be PayPal’s by its name and valid at the time, and its chain must end at a root that Node trusts. An issuer that is missing in it is fetched from `cacerts.digicert.com`. `certificateRoots` pins the roots, `certificate` the certificate.',
  ],
  exampleOptions: `webhookId: process.env['PAYPAL_WEBHOOK_ID'] ?? '',`,
}
