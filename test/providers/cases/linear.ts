import { linearFixture } from '../../../src/testing/fixtures/linear.ts'
import type { ProviderCase } from '../every-provider.ts'

export const CASE: ProviderCase = {
  fixture: linearFixture,
  uncovered: {
    headers: {
      'linear-delivery': 'not signed; the same bytes under another id are quarantined',
    },
  },
}
