import { figmaFixture } from '../../../src/testing/fixtures/figma.ts'
import type { ProviderCase } from '../every-provider.ts'

export const CASE: ProviderCase = {
  fixture: figmaFixture,
  uncovered: {
    bodyBytes: {
      why: 'nothing is signed; a person with the passcode may say anything, and TLS keeps it',
      covers: (body, at) => !isPasscode(body, at),
      identifies: true,
    },
  },
  retryOf: ({ body }, resign) =>
    resign({ body: Buffer.from(body).toString().replace('"retries":0', '"retries":1') }),
  handshakes: [
    {
      name: 'a ping with the passcode is answered',
      deliver: (signed) => signed({ body: { event_type: 'PING', webhook_id: '22' } }),
      answer: { status: 200, body: '' },
    },
    {
      name: 'a ping with another passcode is refused',
      deliver: () => ({ body: Buffer.from('{"event_type":"PING","passcode":"another"}') }),
      answer: 'refuse',
    },
  ],
}

function isPasscode(body: string, at: number): boolean {
  const start = body.indexOf('"passcode":"') + '"passcode":"'.length
  return at >= start && at < body.indexOf('"', start)
}
