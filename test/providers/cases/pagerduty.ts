import { pagerdutyFixture } from '../../../src/testing/fixtures/pagerduty.ts'
import type { ProviderCase } from '../every-provider.ts'

export const CASE: ProviderCase = {
  fixture: pagerdutyFixture,
  // Another subscription of ours delivers it as well.
  retryOf: (_, resign) => resign({ headers: { 'x-webhook-id': 'of-another-subscription' } }),
}
