import { twitchFixture } from '../../../src/testing/fixtures/twitch.ts'
import type { ProviderCase } from '../every-provider.ts'

const SUBSCRIPTION = { id: 'f1c2a387', type: 'drop.entitlement.grant', status: 'enabled' }
const CHALLENGE = { challenge: 'pogchamp-kappa-360noscope-vohiyo', subscription: SUBSCRIPTION }

export const CASE: ProviderCase = {
  fixture: twitchFixture,
  retryOf: (_, resign) => resign({ headers: { 'twitch-eventsub-message-retry': '1' } }),
  batch: (keys) => ({
    subscription: SUBSCRIPTION,
    events: keys.map((id) => ({ id, data: { user_id: '1337' } })),
  }),
  handshakes: [
    {
      name: 'the challenge of a signed request is given back as it is',
      deliver: (signed) => signed({ body: CHALLENGE }),
      answer: {
        status: 200,
        body: CHALLENGE.challenge,
        headers: { 'content-type': 'text/plain; charset=utf-8' },
      },
    },
    {
      name: 'an unsigned request is refused',
      deliver: () => ({ body: Buffer.from(JSON.stringify(CHALLENGE)) }),
      answer: 'refuse',
    },
  ],
}
