import { zendeskFixture } from '../../../src/testing/fixtures/zendesk.ts'
import type { ProviderCase } from '../every-provider.ts'

export const CASE: ProviderCase = {
  fixture: zendeskFixture,
  uncovered: {
    headers: {
      'x-zendesk-webhook-invocation-id':
        'not signed; it counts for triggers alone, and the same bytes under another one are quarantined',
    },
  },
}
