import { microsoftGraphFixture } from '../../../src/testing/fixtures/microsoft-graph.ts'
import type { ProviderCase } from '../every-provider.ts'

const TOKEN = 'Validation: Testing client application reachability <1> Request-Id: 36c3d9f0'

export const CASE: ProviderCase = {
  fixture: microsoftGraphFixture,
  uncovered: {
    bodyBytes: {
      why: 'nothing is signed; a person with the clientState may say anything, and TLS keeps it',
      covers: (body, at) => !isClientState(body, at),
      identifies: true,
    },
  },
  // The subscription was renewed in between.
  retryOf: ({ body }, resign) =>
    resign({ body: Buffer.from(body).toString().replace('2030-10-12', '2030-10-15') }),
  batch: (keys) => ({
    value: keys.map((id) => ({
      id,
      subscriptionId: '76619225-ff6b-4189-a2a8-5e4f8a3e0c1f',
      changeType: 'created',
      resource: 'users/ada@example.com/messages',
    })),
  }),
  handshakes: [
    {
      name: 'the validation token is given back decoded, as text that no browser reads as HTML',
      deliver: () => ({
        url: `/?validationToken=${encodeURIComponent(TOKEN)}`,
        headers: { 'content-type': 'text/plain; charset=utf-8' },
      }),
      answer: {
        status: 200,
        body: TOKEN,
        headers: {
          'content-type': 'text/plain; charset=utf-8',
          'x-content-type-options': 'nosniff',
        },
      },
    },
    {
      name: 'one with plus signs for spaces as well',
      deliver: () => ({ url: '/?validationToken=Validation%3a+Testing+client' }),
      answer: { status: 200, body: 'Validation: Testing client' },
    },
    {
      name: 'a POST without it is no handshake',
      deliver: () => ({ url: '/?validationtoken=x' }),
      answer: 'refuse',
    },
  ],
}

function isClientState(body: string, at: number): boolean {
  const start = body.indexOf('"clientState":"') + '"clientState":"'.length
  return at >= start && at < body.indexOf('"', start)
}
