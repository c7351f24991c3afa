import { pusherFixture } from '../../../src/testing/fixtures/pusher.ts'
import type { ProviderCase } from '../every-provider.ts'

export const CASE: ProviderCase = {
  fixture: pusherFixture,
  options: { keys: ['3d1c3e1a2b4c5d6e7f80'] },
  batch: (keys, at) => ({
    time_ms: at.getTime(),
    events: keys.map((user) => ({
      name: 'member_added',
      channel: 'presence-room',
      user_id: user,
    })),
  }),
}
