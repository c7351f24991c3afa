import { sentryFixture } from '../../../src/testing/fixtures/sentry.ts'
import type { ProviderCase } from '../every-provider.ts'

export const CASE: ProviderCase = {
  fixture: sentryFixture,
  uncovered: {
    headers: {
      'request-id':
        'not signed, and the key only of what has no other; the same bytes under another are quarantined',
      'sentry-hook-resource':
        'not signed; the same bytes under the same key are a duplicate whatever it says',
      'sentry-hook-timestamp': 'not signed; says only when it happened, where nothing else does',
    },
  },
  // Everything that was drawn or counted for the first attempt is drawn and counted anew.
  retryOf: ({ body }, resign) =>
    resign({
      body: Buffer.from(body).toString().replace('"count":"1"', '"count":"9"'),
      headers: { 'request-id': 'of-the-retry', 'sentry-hook-timestamp': '1760000300' },
    }),
}
