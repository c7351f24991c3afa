import type { ProviderNotes } from './notes.ts'

export const NOTES: ProviderNotes = {
  name: 'BigCommerce',
  setUp: [
    'Create a webhook through the API with the URL of the source. Its port must be 443.',
    'The secret is the app’s client secret, as it is: not in base64, and without `whsec_`.',
  ],
  traps: [
    'A hook may fire twice for one event. Both bodies are then the same, and the second is a duplicate whatever its `webhook-id`.',
    'The body says what changed and not how: read the object again through the API.',
    'When fewer than nine in ten answers within two minutes are a success, BigCommerce sends nothing for three minutes. After 48 hours of failure the webhook is switched off.',
  ],
}
