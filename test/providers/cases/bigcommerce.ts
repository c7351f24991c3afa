import { bigcommerceFixture } from '../../../src/testing/fixtures/bigcommerce.ts'
import type { ProviderCase } from '../every-provider.ts'

export const CASE: ProviderCase = { fixture: bigcommerceFixture }
