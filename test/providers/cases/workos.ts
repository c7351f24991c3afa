import { workosFixture } from '../../../src/testing/fixtures/workos.ts'
import type { ProviderCase } from '../every-provider.ts'

export const CASE: ProviderCase = { fixture: workosFixture }
