import { paystackFixture } from '../../../src/testing/fixtures/paystack.ts'
import type { ProviderCase } from '../every-provider.ts'

export const CASE: ProviderCase = { fixture: paystackFixture }
