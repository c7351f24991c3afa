import type { ProviderNotes } from './notes.ts'

export const NOTES: ProviderNotes = {
  name: 'Xero',
  setUp: [
    'In the developer portal, under **Webhooks** of your app, enter the URL of the source and copy the webhook key. It looks like base64 and is used as text.',
    'Start **Intent to receive**. Rightly and wrongly signed requests are answered as Xero wants it.',
  ],
  traps: [
    'Xero takes any body or cookie in an answer for a failure. The answers of the source have none; see that no proxy adds one.',
    'Leave `status` at 200.',
    'Events have no id. `sequence` is the number Xero counts them by; a gap shows that a delivery is missing.',
    'An event says what changed and not how: read the resource again through the API.',
  ],
}
