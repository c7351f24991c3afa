import { sendgridFixture } from '../../../src/testing/fixtures/sendgrid.ts'
import type { ProviderCase } from '../every-provider.ts'

export const CASE: ProviderCase = {
  fixture: sendgridFixture,
  batch: (keys, at) =>
    keys.map((key) => ({
      email: 'someone@example.com',
      timestamp: Math.floor(at.getTime() / 1000),
      event: 'delivered',
      sg_event_id: key,
    })),
}
