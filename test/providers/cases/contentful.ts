import { contentfulFixture } from '../../../src/testing/fixtures/contentful.ts'
import type { Configuration, ProviderCase } from '../every-provider.ts'

const publicUrl = 'https://example.com/in/contentful?site=main&x=1'

function configure(secret: string): Configuration {
  return { options: { secrets: [secret], publicUrl }, credentials: { secret, publicUrl } }
}

export const CASE: ProviderCase = {
  fixture: contentfulFixture,
  configuration: configure('a1b2c3d4e5f60718'.repeat(4)),
  otherConfiguration: configure('b1b2c3d4e5f60718'.repeat(4)),
  uncovered: {
    headers: {
      'x-contentful-idempotency-key':
        'Contentful need not sign it; the same bytes under another key are quarantined',
    },
  },
  retryOf: (_delivery, resign) =>
    resign({ afterSeconds: 30, headers: { 'x-contentful-webhook-request-attempt': '2' } }),
}
