import type { ProviderNotes } from './notes.ts'

export const NOTES: ProviderNotes = {
  name: 'WooCommerce',
  setUp: [
    'Under **WooCommerce**, **Settings**, **Advanced**, **Webhooks**, add a webhook with the URL of the source and a secret of your own.',
    'Save it. WooCommerce sends a ping without a signature, which is answered and not stored.',
    'Give each webhook a source of its own.',
  ],
  traps: [
    'WooCommerce does not retry, and switches a webhook off after more than five failures in a row.',
    'The delivery id is no key: it is new for each attempt, and the same for all deliveries of a webhook in one second.',
    'The shop and the topic are in headers that are not signed. The same body under another topic is quarantined: where two webhooks share a source, their bodies may well be the same.',
    'After a deletion the body has only the `id`. A second deletion of an object that was restored looks like the first.',
    'The body is written when WooCommerce’s queue gets to it, and may be newer than the event.',
    'A plugin may choose another hash than SHA-256 (`woocommerce_webhook_hash_algorithm`). Such deliveries are refused.',
  ],
  key: 'topic, `id` and the hash of the body, within the shop; for actions the delivery id as well',
}
