import { svixFixture } from '../../../src/testing/fixtures/svix.ts'
import type { ProviderCase } from '../every-provider.ts'

export const CASE: ProviderCase = { fixture: svixFixture }
