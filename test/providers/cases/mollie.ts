import { mollieFixture } from '../../../src/testing/fixtures/mollie.ts'
import type { ProviderCase } from '../every-provider.ts'

export const CASE: ProviderCase = { fixture: mollieFixture }
