import { intercomFixture } from '../../../src/testing/fixtures/intercom.ts'
import type { ProviderCase } from '../every-provider.ts'

const PING = {
  type: 'notification_event',
  app_id: 'example1',
  data: { type: 'notification_event_data', item: { type: 'ping', message: 'Hello' } },
  id: null,
  topic: 'ping',
}

export const CASE: ProviderCase = {
  fixture: intercomFixture,
  retryOf: ({ body }, resign) => {
    const notification = JSON.parse(Buffer.from(body).toString()) as object
    return resign({
      body: {
        ...notification,
        delivery_status: 'retry',
        delivery_attempts: 2,
        first_sent_at: 1_760_000_061,
      },
    })
  },
  handshakes: [
    {
      name: 'a HEAD is answered',
      deliver: () => ({ method: 'HEAD' }),
      answer: { status: 200, body: '' },
    },
    {
      name: 'a signed ping is answered',
      deliver: (signed) => signed({ body: PING }),
      answer: { status: 200, body: '' },
    },
    {
      name: 'an unsigned ping is refused',
      deliver: () => ({ body: Buffer.from(JSON.stringify(PING)) }),
      answer: 'refuse',
    },
  ],
}
