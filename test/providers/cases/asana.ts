import { asanaFixture } from '../../../src/testing/fixtures/asana.ts'
import type { ProviderCase } from '../every-provider.ts'

const SECRET = 'b537207f20cbfa02357cf448134da559e8bd39d61597dcd5631b8012eae53e81'
const handshake = (secret = SECRET, more: Record<string, string> = {}) => ({
  headers: { 'x-hook-secret': secret, ...more },
  body: Buffer.from('{}'),
})

export const CASE: ProviderCase = {
  fixture: asanaFixture,
  // As one call makes them: all in one millisecond, by one user.
  batch: (keys, at) => ({
    events: keys.map((gid) => ({
      user: { gid: '1201234567890000', resource_type: 'user' },
      created_at: at.toISOString(),
      action: 'changed',
      resource: { gid: '1201234567890002', resource_type: 'task' },
      parent: null,
      change: {
        field: 'followers',
        action: 'added',
        added_value: { gid, resource_type: 'user' },
      },
    })),
  }),
  handshakes: [
    {
      name: 'the secret is given back in its header',
      deliver: () => handshake(),
      answer: { status: 200, headers: { 'x-hook-secret': SECRET }, body: '' },
    },
    {
      name: 'one that is waited for is answered',
      options: { acceptHandshake: (secret: string) => Promise.resolve(secret === SECRET) },
      deliver: () => handshake(),
      answer: { status: 200, headers: { 'x-hook-secret': SECRET } },
    },
    {
      name: 'one that the application does not expect is refused',
      options: { acceptHandshake: () => false },
      deliver: () => handshake(),
      answer: 'refuse',
    },
    {
      name: 'a secret that cannot stand in a header is refused',
      deliver: () => handshake('a\r\nset-cookie: b'),
      answer: 'refuse',
    },
    {
      name: 'a delivery that is signed is judged by its signature',
      deliver: () => handshake(SECRET, { 'x-hook-signature': '0'.repeat(64) }),
      answer: 'refuse',
    },
  ],
}
