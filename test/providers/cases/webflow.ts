import { webflowFixture } from '../../../src/testing/fixtures/webflow.ts'
import type { ProviderCase } from '../every-provider.ts'

export const CASE: ProviderCase = {
  fixture: webflowFixture,
  retryOf: (_delivery, resign) => resign({ afterSeconds: 600 }),
}
