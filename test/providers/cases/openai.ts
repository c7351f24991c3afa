import { openaiFixture } from '../../../src/testing/fixtures/openai.ts'
import type { ProviderCase } from '../every-provider.ts'

export const CASE: ProviderCase = { fixture: openaiFixture }
