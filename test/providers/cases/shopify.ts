import { shopifyFixture } from '../../../src/testing/fixtures/shopify.ts'
import type { ProviderCase } from '../every-provider.ts'

const WHY = 'not signed; the same bytes under another identity are quarantined'

export const CASE: ProviderCase = {
  fixture: shopifyFixture,
  uncovered: {
    headers: {
      'x-shopify-event-id': WHY,
      'x-shopify-webhook-id': WHY,
      'x-shopify-topic': WHY,
      'x-shopify-shop-domain': WHY,
      'x-shopify-triggered-at': 'not signed; says only when it happened',
    },
  },
}
