import { vercelFixture } from '../../../src/testing/fixtures/vercel.ts'
import type { ProviderCase } from '../every-provider.ts'

export const CASE: ProviderCase = { fixture: vercelFixture }
