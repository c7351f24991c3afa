import { lemonsqueezyFixture } from '../../../src/testing/fixtures/lemonsqueezy.ts'
import type { ProviderCase } from '../every-provider.ts'

export const CASE: ProviderCase = {
  fixture: lemonsqueezyFixture,
  // Resent by hand, with links that were signed anew.
  retryOf: ({ body }, resign) =>
    resign({
      body: Buffer.from(body).toString().replace('signature=1', 'signature=2'),
      headers: { 'x-event-name': 'something_else' },
      afterSeconds: 86_400,
    }),
}
