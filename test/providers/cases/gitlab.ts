import { gitlabFixture } from '../../../src/testing/fixtures/gitlab.ts'
import type { ProviderCase } from '../every-provider.ts'

export const CASE: ProviderCase = {
  fixture: gitlabFixture,
  uncovered: {
    headers: { 'idempotency-key': 'not read where `webhook-id` is signed' },
  },
}
