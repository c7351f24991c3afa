import { circleciFixture } from '../../../src/testing/fixtures/circleci.ts'
import type { ProviderCase } from '../every-provider.ts'

export const CASE: ProviderCase = { fixture: circleciFixture }
