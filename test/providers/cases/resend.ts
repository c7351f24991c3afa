import { resendFixture } from '../../../src/testing/fixtures/resend.ts'
import type { ProviderCase } from '../every-provider.ts'

export const CASE: ProviderCase = { fixture: resendFixture }
