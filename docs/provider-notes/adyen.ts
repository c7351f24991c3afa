import type { ProviderNotes } from './notes.ts'

export const NOTES: ProviderNotes = {
  name: 'Adyen',
  setUp: [
    'In the Customer Area, under **Developers**, **Webhooks**, add a webhook with the URL of the source, as JSON over HTTP POST.',
    'Generate an HMAC key there, and give it as it is shown: hex.',
  ],
  traps: [
    'Of a standard webhook only eight values of each item are signed: the references, the merchant account, the amount, the event code and `success`. `eventDate`, `reason`, `paymentMethod`, `live` and the rest of `additionalData` are not: do not decide anything by them. An item that comes again with others is a conflict.',
    'One item that is refused makes Adyen hold back all that follow, for up to 30 days.',
    '`success` and `live` are texts: `"false"` is true in an `if`.',
    'A new HMAC key takes a while to be used everywhere: give both.',
    'Platform webhooks other than transfers have no event id. They are known by their bytes.',
    'The user and password that can be set for the endpoint are not looked at.',
    'Stricter than Adyen’s library: of an item’s signed values only `merchantReference` may contain a colon, and its references and codes are letters, digits, `-` and `_`. Otherwise one signature would hold for several items, or that of a body for an item.',
    'A body whose outermost object has more than 1,000 members is refused before its signature is looked at.',
  ],
  key: '`pspReference` + `eventCode` + `success` + `originalReference` within the merchant account; for transfers `type` + `data.id` + `data.sequenceNumber`; else the body',
}
