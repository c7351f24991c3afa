import { oktaFixture } from '../../../src/testing/fixtures/okta.ts'
import type { ProviderCase } from '../every-provider.ts'

const CHALLENGE = 'EDJpBvlgLMqVPYVbQQlBvMQPGCIcbGYQ'
const headers = { 'x-okta-verification-challenge': CHALLENGE }

export const CASE: ProviderCase = {
  fixture: oktaFixture,
  uncovered: {
    body: 'nothing is signed; a person with the secret may say anything, and TLS keeps it',
  },
  // Whether a retry keeps the id of the delivery is not documented; nothing rests on it.
  retryOf: ({ body }, resign) =>
    resign({
      body: {
        ...(JSON.parse(Buffer.from(body).toString()) as object),
        eventId: 'another',
        eventTime: '2025-10-09T08:54:20.000Z',
      },
    }),
  batch: (keys, at) => ({
    eventType: 'com.okta.event_hook',
    source: 'https://example.okta.com/api/v1/eventHooks/whoql0HfiLGPWc8Jx0g3',
    eventId: keys.join(' '),
    data: {
      events: keys.map((uuid) => ({
        uuid,
        published: at.toISOString(),
        eventType: 'user.session.start',
      })),
    },
  }),
  handshakes: [
    {
      name: 'the challenge is given back as JSON to who shows the secret',
      deliver: (signed) => signed({ method: 'GET', headers, body: '' }),
      answer: {
        status: 200,
        headers: { 'content-type': 'application/json' },
        body: `{"verification":"${CHALLENGE}"}`,
      },
    },
    {
      name: 'without the secret it is refused',
      deliver: () => ({ method: 'GET', headers }),
      answer: 'refuse',
    },
    {
      name: 'another secret is refused',
      deliver: () => ({ method: 'GET', headers: { ...headers, authorization: 'another' } }),
      answer: 'refuse',
    },
    {
      name: 'a GET that asks nothing is refused, and is no event',
      deliver: (signed) => signed({ method: 'GET', body: '' }),
      answer: 'refuse',
    },
  ],
}
