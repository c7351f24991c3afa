import { boxFixture } from '../../../src/testing/fixtures/box.ts'
import type { ProviderCase } from '../every-provider.ts'

export const CASE: ProviderCase = {
  fixture: boxFixture,
  retryOf: (_delivery, resign) =>
    resign({ headers: { 'box-delivery-id': '0a5ab1bf-3a2c-4a3e-8a5a-3cbd29fd2a07' } }),
}
