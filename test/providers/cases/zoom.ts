import { createHmac } from 'node:crypto'
import { zoomFixture } from '../../../src/testing/fixtures/zoom.ts'
import type { ProviderCase } from '../every-provider.ts'

const SECRET = 'a-secret-token-of-zoom'
const OTHER = 'another-secret-token'
const PLAIN_TOKEN = 'qgg8vlvZRS6UYooatFL8Aw'
const validation = (plainToken: string) => ({
  payload: { plainToken },
  event_ts: 1_760_000_000_000,
  event: 'endpoint.url_validation',
})

export const CASE: ProviderCase = {
  fixture: zoomFixture,
  configuration: { options: { secrets: [SECRET] }, credentials: { secret: SECRET } },
  otherConfiguration: { options: { secrets: [OTHER] }, credentials: { secret: OTHER } },
  // As reported of recordings: another token and other links.
  retryOf: ({ body }, resign) =>
    resign({
      body: Buffer.from(body)
        .toString()
        .replace('token-of-the-first-sending', 'token-of-the-second')
        .replace('/download/first', '/download/second'),
    }),
  handshakes: [
    {
      name: 'the token is given back with its HMAC',
      deliver: (signed) => signed({ body: validation(PLAIN_TOKEN) }),
      answer: {
        status: 200,
        body: JSON.stringify({
          plainToken: PLAIN_TOKEN,
          encryptedToken: createHmac('sha256', SECRET).update(PLAIN_TOKEN).digest('hex'),
        }),
      },
    },
    {
      name: 'an unsigned validation is refused',
      deliver: () => ({ body: Buffer.from(JSON.stringify(validation(PLAIN_TOKEN))) }),
      answer: 'refuse',
    },
    {
      name: 'a token that could be a signed text is refused',
      deliver: (signed) => signed({ body: validation('v0:1760000000:{}') }),
      answer: 'refuse',
    },
  ],
}
