import { stripeFixture } from '../../../src/testing/fixtures/stripe.ts'
import type { ProviderCase } from '../every-provider.ts'

export const CASE: ProviderCase = {
  fixture: stripeFixture,
  // A retry counts the endpoints that have not answered yet.
  retryOf: ({ body }, resign) =>
    resign({
      body: Buffer.from(body).toString().replace('"pending_webhooks":1', '"pending_webhooks":3'),
    }),
}
