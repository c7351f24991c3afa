import { plaidFixture } from '../../../src/testing/fixtures/plaid.ts'
import type { ProviderCase } from '../every-provider.ts'

export const CASE: ProviderCase = {
  fixture: plaidFixture,
  // There is no event id, and equal bodies are different events; running twice is safe, losing one is not.
  retryIsSameEvent: false,
}
