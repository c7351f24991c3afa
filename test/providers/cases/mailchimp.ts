import { mailchimpFixture } from '../../../src/testing/fixtures/mailchimp.ts'
import type { ProviderCase } from '../every-provider.ts'

export const CASE: ProviderCase = {
  fixture: mailchimpFixture,
  uncovered: {
    body: 'nothing is signed; a person with the URL may say anything, and TLS keeps it',
  },
  // The fields in another order.
  retryOf: ({ body }, resign) =>
    resign({ body: Buffer.from(body).toString().split('&').reverse().join('&') }),
  handshakes: [
    {
      name: 'a GET of the URL with the secret gets 200',
      deliver: (signed) => ({ ...signed({ method: 'GET' }), body: new Uint8Array() }),
      answer: { status: 200, body: '' },
    },
    {
      name: 'so does a HEAD',
      deliver: (signed) => ({ ...signed({ method: 'HEAD' }), body: new Uint8Array() }),
      answer: { status: 200, body: '' },
    },
    {
      name: 'another secret is refused',
      deliver: () => ({ method: 'GET', url: '/?secret=of-theirs' }),
      answer: 'refuse',
    },
    {
      name: 'none is refused',
      deliver: () => ({ method: 'HEAD' }),
      answer: 'refuse',
    },
  ],
}
