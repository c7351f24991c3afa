import { metaFixture } from '../../../src/testing/fixtures/meta.ts'
import type { ProviderCase } from '../every-provider.ts'

const QUERY = 'hub.mode=subscribe&hub.challenge=1158201444&hub.verify_token='

export const CASE: ProviderCase = {
  fixture: metaFixture,
  options: { verifyToken: 'a-token-of-ours' },
  // Grouped as Meta likes, the time of the entry being that of the request.
  batch: (keys, at) => ({
    object: 'whatsapp_business_account',
    entry: keys.map((id) => ({
      id: '102290129340398',
      time: at.getTime() + keys.length,
      changes: [{ field: 'messages', value: { messages: [{ id, type: 'text' }] } }],
    })),
  }),
  handshakes: [
    {
      name: 'the challenge is given back to who shows the token',
      deliver: () => ({ method: 'GET', url: `/?${QUERY}a-token-of-ours` }),
      answer: { status: 200, body: '1158201444' },
    },
    {
      name: 'another token is refused',
      deliver: () => ({ method: 'GET', url: `/?${QUERY}a-token-of-theirs` }),
      answer: 'refuse',
    },
    {
      name: 'a GET that asks nothing is refused',
      deliver: () => ({ method: 'GET' }),
      answer: 'refuse',
    },
  ],
}
