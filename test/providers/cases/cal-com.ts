import { calComFixture } from '../../../src/testing/fixtures/cal-com.ts'
import type { ProviderCase } from '../every-provider.ts'

export const CASE: ProviderCase = { fixture: calComFixture }
