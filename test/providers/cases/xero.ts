import { xeroFixture } from '../../../src/testing/fixtures/xero.ts'
import type { ProviderCase } from '../every-provider.ts'

const INTENT = {
  events: [],
  firstEventSequence: 0,
  lastEventSequence: 0,
  entropy: 'S0m3r4Nd0mt3xt',
}

export const CASE: ProviderCase = {
  fixture: xeroFixture,
  retryOf: ({ body }, resign) =>
    resign({ body: Buffer.from(body).toString().replace('FMLHZNKCVKQ', 'ANOTHERONE') }),
  // Whatever numbers a regrouped delivery has.
  batch: (keys, at) => ({
    events: keys.map((key) => ({
      resourceId: key,
      eventDateUtc: at.toISOString().slice(0, -1),
      eventType: 'UPDATE',
      eventCategory: 'INVOICE',
      tenantId: 'c2cc9b6e-0000-4000-8000-f02b81b0594f',
    })),
    firstEventSequence: 7,
    lastEventSequence: 6 + keys.length,
    entropy: keys.join(''),
  }),
  handshakes: [
    {
      name: 'a rightly signed intent to receive is answered 200 with nothing',
      deliver: (signed) => signed({ body: INTENT }),
      answer: { status: 200, body: '' },
    },
    {
      name: 'a wrongly signed one is refused',
      deliver: (signed) => ({ ...signed({ body: INTENT }), body: Buffer.from('{"events":[]}') }),
      answer: 'refuse',
    },
  ],
}
