import { anthropicFixture } from '../../../src/testing/fixtures/anthropic.ts'
import type { ProviderCase } from '../every-provider.ts'

export const CASE: ProviderCase = {
  fixture: anthropicFixture,
  // No document promises that a resent event keeps its `webhook-id`; the `id` in its body stays.
  retryOf: (_, resign) => resign({ headers: { 'webhook-id': 'msg_of_another_attempt' } }),
}
