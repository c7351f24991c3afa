import { sanityFixture } from '../../../src/testing/fixtures/sanity.ts'
import type { ProviderCase } from '../every-provider.ts'

const WHY = 'not signed; the same bytes under another identity are quarantined'

export const CASE: ProviderCase = {
  fixture: sanityFixture,
  uncovered: {
    headers: {
      'idempotency-key': WHY,
      'sanity-project-id': WHY,
      'sanity-dataset': WHY,
      'sanity-operation':
        'not signed; the same bytes under the same key are a duplicate whatever it says',
      'sanity-transaction-time': 'not signed; says only when it happened',
    },
  },
}
