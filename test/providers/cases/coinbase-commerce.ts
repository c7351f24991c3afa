import { coinbaseCommerceFixture } from '../../../src/testing/fixtures/coinbase-commerce.ts'
import type { ProviderCase } from '../every-provider.ts'

export const CASE: ProviderCase = {
  fixture: coinbaseCommerceFixture,
  // Each attempt has an envelope of its own.
  retryOf: ({ body }, resign) => {
    const envelope = JSON.parse(Buffer.from(body).toString()) as object
    const id = '8a5c0d5e-0000-4000-8000-000000000002'
    const scheduled = '2025-10-09T09:53:20Z'
    return resign({ body: { ...envelope, id, attempt_number: 2, scheduled_for: scheduled } })
  },
}
