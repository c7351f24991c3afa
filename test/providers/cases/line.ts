import { lineFixture } from '../../../src/testing/fixtures/line.ts'
import type { ProviderCase } from '../every-provider.ts'

export const CASE: ProviderCase = {
  fixture: lineFixture,
  retryOf: ({ body }, resign) =>
    resign({
      body: Buffer.from(body).toString().replace('"isRedelivery":false', '"isRedelivery":true'),
    }),
  batch: (keys, at) => ({
    destination: 'U8e742f61d673b39c7fff3cecb7536ef0',
    events: keys.map((webhookEventId, index) => ({
      type: 'message',
      webhookEventId,
      deliveryContext: { isRedelivery: index === 0 },
      timestamp: at.getTime(),
      mode: 'active',
    })),
  }),
}
