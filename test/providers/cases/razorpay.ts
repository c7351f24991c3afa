import { razorpayFixture } from '../../../src/testing/fixtures/razorpay.ts'
import type { ProviderCase } from '../every-provider.ts'

export const CASE: ProviderCase = {
  fixture: razorpayFixture,
  uncovered: {
    headers: {
      'x-razorpay-event-id': 'not signed; the same bytes under another id are quarantined',
    },
  },
}
