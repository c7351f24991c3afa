import { netlifyFixture } from '../../../src/testing/fixtures/netlify.ts'
import type { ProviderCase } from '../every-provider.ts'

export const CASE: ProviderCase = {
  fixture: netlifyFixture,
  uncovered: {
    headers: {
      'x-netlify-event': 'not signed; the same bytes under another name are quarantined',
    },
  },
}
