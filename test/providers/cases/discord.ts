import { discordFixture } from '../../../src/testing/fixtures/discord.ts'
import type { ProviderCase } from '../every-provider.ts'

export const CASE: ProviderCase = {
  fixture: discordFixture,
  handshakes: [
    {
      name: 'the ping of webhook events gets 204',
      deliver: (signed) => signed({ body: { version: 1, application_id: '1', type: 0 } }),
      answer: { status: 204, body: '' },
    },
    {
      name: 'the ping of interactions gets {"type":1}',
      deliver: (signed) => signed({ body: { application_id: '1', id: '2', type: 1 } }),
      answer: { status: 200, body: '{"type":1}' },
    },
    {
      name: 'a ping that is not signed is refused',
      deliver: () => ({ body: Buffer.from('{"type":1}') }),
      answer: 'refuse',
    },
  ],
}
