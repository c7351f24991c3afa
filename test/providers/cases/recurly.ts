import { recurlyFixture } from '../../../src/testing/fixtures/recurly.ts'
import type { ProviderCase } from '../every-provider.ts'

export const CASE: ProviderCase = { fixture: recurlyFixture }
