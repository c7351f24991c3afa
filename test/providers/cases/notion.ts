import { notionFixture } from '../../../src/testing/fixtures/notion.ts'
import type { ProviderCase } from '../every-provider.ts'

const TOKEN = 'secret_tMrlL1qK5vuQAh1b6cZGhFChZTSYJlce98V0pYn7yBl'
const handshake = (token: unknown = TOKEN, more: object = {}) => ({
  body: Buffer.from(JSON.stringify({ verification_token: token, ...more })),
})

export const CASE: ProviderCase = {
  fixture: notionFixture,
  // A retry counts its attempt, inside of the signed body.
  retryOf: ({ body }, resign) =>
    resign({
      body: Buffer.from(body).toString().replace('"attempt_number":1', '"attempt_number":2'),
    }),
  handshakes: [
    {
      name: 'the token is answered 200',
      deliver: () => handshake(),
      answer: { status: 200, body: '' },
    },
    {
      name: 'the token is handed over as it came',
      options: {
        onVerificationToken: (token: string) => {
          if (token !== TOKEN) throw new Error('another token')
        },
      },
      deliver: () => handshake(),
      answer: { status: 200 },
    },
    {
      name: 'a token that the application does not expect is refused',
      options: { onVerificationToken: () => Promise.reject(new Error('not now')) },
      deliver: () => handshake(),
      answer: 'refuse',
    },
    {
      name: 'a token longer than any is refused',
      deliver: () => handshake('x'.repeat(257)),
      answer: 'refuse',
    },
    {
      name: 'an unsigned event is none, whatever it carries',
      deliver: () => handshake(TOKEN, { id: '367cba44-b6f3-4c92-81e7-6a2e9659efd4' }),
      answer: 'refuse',
    },
  ],
}
