import { trelloFixture } from '../../../src/testing/fixtures/trello.ts'
import type { ProviderCase } from '../every-provider.ts'

export const CASE: ProviderCase = {
  fixture: trelloFixture,
  // A retry counts the failures before it.
  retryOf: ({ body }, resign) =>
    resign({
      body: Buffer.from(body)
        .toString()
        .replace('"consecutiveFailures":0', '"consecutiveFailures":1'),
    }),
  handshakes: [
    {
      name: 'the HEAD of a webhook’s creation is answered',
      deliver: () => ({ method: 'HEAD' }),
      answer: { status: 200, body: '' },
    },
    {
      name: 'a POST without a signature is refused',
      deliver: () => ({ body: Buffer.from('{}') }),
      answer: 'refuse',
    },
  ],
}
