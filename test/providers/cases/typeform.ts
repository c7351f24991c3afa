import { typeformFixture } from '../../../src/testing/fixtures/typeform.ts'
import type { ProviderCase } from '../every-provider.ts'

export const CASE: ProviderCase = { fixture: typeformFixture }
