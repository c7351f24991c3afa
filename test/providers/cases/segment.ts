import { segmentFixture } from '../../../src/testing/fixtures/segment.ts'
import type { Configuration, ProviderCase } from '../every-provider.ts'

function configure(secret: string): Configuration {
  const authorization = 'Bearer of-the-destination'
  return {
    options: { secrets: [secret], authorization },
    credentials: { secret, options: { authorization } },
  }
}

export const CASE: ProviderCase = {
  fixture: segmentFixture,
  configuration: configure('a secret of this destination'),
  otherConfiguration: configure('a secret of that destination'),
  // Segment may have got the event from its sender once more.
  retryOf: ({ body }, resign) =>
    resign({
      body: Buffer.from(body)
        .toString()
        .replace(/("receivedAt":"\d{3})\d/, '$19'),
    }),
  batch: (keys, at) =>
    keys.map((messageId) => ({
      messageId,
      type: 'track',
      event: 'Order Completed',
      timestamp: at.toISOString(),
    })),
}
