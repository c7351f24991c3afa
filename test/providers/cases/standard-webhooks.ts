import { standardWebhooksFixture } from '../../../src/testing/fixtures/standard-webhooks.ts'
import type { ProviderCase } from '../every-provider.ts'

export const CASE: ProviderCase = { fixture: standardWebhooksFixture }
