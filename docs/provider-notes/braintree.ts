import type { ProviderNotes } from './notes.ts'

export const NOTES: ProviderNotes = {
  name: 'Braintree',
  setUp: [
    'A secret is the public key and the private key of your API keys, with a bar between: `publicKey|privateKey`.',
    'Under **API**, **Webhooks**, enter the URL of the source. Braintree sends a challenge, which is answered.',
  ],
  traps: [
    'The payload is XML in base64. A handler gets the form; give `bt_signature` and `bt_payload` to Braintree’s library to read it.',
    'A notification has no id. It is known by the hash of its XML.',
    'Notifications may come out of order.',
    'A form of more than 1,000 fields is refused before its signature is looked at.',
  ],
  key: 'the hash of the XML in `bt_payload`',
  type: '`kind`, such as `subscription_charged_successfully`',
}
