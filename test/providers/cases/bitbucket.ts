import { bitbucketFixture } from '../../../src/testing/fixtures/bitbucket.ts'
import type { ProviderCase } from '../every-provider.ts'

const WHY = 'not signed; the same bytes under another id are quarantined'
const PING = { 'x-event-key': 'diagnostics:ping', 'x-request-id': 'ping' }

export const CASE: ProviderCase = {
  fixture: bitbucketFixture,
  uncovered: {
    headers: {
      'x-request-uuid': WHY,
      'x-request-id': WHY,
      'x-event-key':
        'not signed; the same bytes under the same id are a duplicate whatever it says',
    },
  },
  retryOf: (_, resign) => resign({ headers: { 'x-attempt-number': '2' } }),
  handshakes: [
    {
      name: 'a test of the connection is answered, which Data Center does not sign',
      deliver: () => ({ headers: PING, body: Buffer.from('{"test": true}') }),
      answer: { status: 200, body: '' },
    },
    {
      name: 'one that is signed is answered as well',
      deliver: (signed) => signed({ headers: PING, body: { test: true } }),
      answer: { status: 200, body: '' },
    },
    {
      name: 'one that is signed with another secret is refused',
      deliver: () => ({
        headers: { ...PING, 'x-hub-signature': `sha256=${'0'.repeat(64)}` },
        body: Buffer.from('{"test":true}'),
      }),
      answer: 'refuse',
    },
    {
      name: 'anything else under the name of a test is refused without a signature',
      deliver: () => ({ headers: PING, body: Buffer.from('{"push":{"changes":[]}}') }),
      answer: 'refuse',
    },
  ],
}
