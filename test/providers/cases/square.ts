import { squareFixture } from '../../../src/testing/fixtures/square.ts'
import type { ProviderCase } from '../every-provider.ts'

export const CASE: ProviderCase = { fixture: squareFixture }
