import { clerkFixture } from '../../../src/testing/fixtures/clerk.ts'
import type { ProviderCase } from '../every-provider.ts'

export const CASE: ProviderCase = { fixture: clerkFixture }
