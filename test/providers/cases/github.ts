import { githubFixture } from '../../../src/testing/fixtures/github.ts'
import type { ProviderCase } from '../every-provider.ts'

export const CASE: ProviderCase = {
  fixture: githubFixture,
  uncovered: {
    headers: {
      'x-github-delivery': 'not signed; the same bytes under another id are quarantined',
      'x-github-event':
        'not signed; the same bytes under the same id are a duplicate whatever it says',
    },
  },
}
