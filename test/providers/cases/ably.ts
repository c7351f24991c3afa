import { ablyFixture } from '../../../src/testing/fixtures/ably.ts'
import type { ProviderCase } from '../every-provider.ts'

export const CASE: ProviderCase = {
  fixture: ablyFixture,
  batch: (keys, at) => ({
    items: keys.map((serial) => ({
      webhookId: 'ABcDEf',
      source: 'channel.message',
      serial,
      timestamp: at.getTime(),
      name: 'channel.message',
      data: { channelId: 'my-channel', messages: [{ id: 'ABcDefgHIj:1:0', data: 'Hello' }] },
    })),
  }),
}
