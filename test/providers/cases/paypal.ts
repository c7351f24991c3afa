import { paypalFixture } from '../../../src/testing/fixtures/paypal.ts'
import { keyPair } from '../every-provider.ts'
import type { ProviderCase } from '../every-provider.ts'

export const CASE: ProviderCase = {
  fixture: paypalFixture,
  configuration: configure(0),
  otherConfiguration: configure(1),
  uncovered: {
    headers: {
      'paypal-cert-url':
        'not looked at where a certificate is configured; else only an address at PayPal’s API is fetched',
    },
  },
  // Another transmission of the same event.
  retryOf: (_, resign) =>
    resign({ headers: { 'paypal-transmission-id': 'another' }, afterSeconds: 86_400 }),
}

function configure(which: 0 | 1) {
  const { publicKey, privateKey } = keyPair('rsa', which)
  const webhookId = '1JE4291016473214C'
  return {
    options: { certificate: publicKey.export({ format: 'pem', type: 'spki' }), webhookId },
    credentials: { privateKey, options: { webhookId } },
  }
}
