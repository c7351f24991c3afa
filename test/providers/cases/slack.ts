import { slackFixture } from '../../../src/testing/fixtures/slack.ts'
import type { ProviderCase } from '../every-provider.ts'

const CHALLENGE = { type: 'url_verification', challenge: '3eZbrw1aBm2rZgRNFdxV2595E9CY3gmd' }

export const CASE: ProviderCase = {
  fixture: slackFixture,
  handshakes: [
    {
      name: 'the challenge of a signed request is given back',
      deliver: (signed) => signed({ body: CHALLENGE }),
      answer: { status: 200, body: CHALLENGE.challenge },
    },
    {
      name: 'an unsigned request is refused',
      deliver: () => ({ body: Buffer.from(JSON.stringify(CHALLENGE)) }),
      answer: 'refuse',
    },
  ],
}
