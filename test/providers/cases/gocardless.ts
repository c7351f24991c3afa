import { gocardlessFixture } from '../../../src/testing/fixtures/gocardless.ts'
import type { ProviderCase } from '../every-provider.ts'

export const CASE: ProviderCase = {
  fixture: gocardlessFixture,
  batch: (keys, at) => ({
    events: keys.map((id) => ({
      id,
      created_at: at.toISOString(),
      resource_type: 'payments',
      action: 'confirmed',
      links: { payment: 'PM00EXAMPLE01' },
    })),
    meta: { webhook_id: `WB${keys.length}` },
  }),
}
