import { header, hmac, load, memberOf } from '../oracle.ts'
import type { SdkOracle } from '../oracle.ts'

interface Middleware {
  readonly prototype: {
    _verifyData(
      this: { _secret: string },
      id: string,
      timestamp: string,
      body: string,
      signature: string,
    ): boolean
  }
}

const NAME = 'twitch-eventsub-message'

/** A library of others: Twitch has none for Node. Its check is a method that needs only the secret. */
export const ORACLE: SdkOracle = {
  slug: 'twitch',
  packages: ['@twurple/eventsub-http'],
  sign: ({ headers, body, at, key }, { secret }) => {
    const time = at.toISOString()
    return {
      headers: {
        ...headers,
        [`${NAME}-id`]: key,
        [`${NAME}-timestamp`]: time,
        [`${NAME}-signature`]: `sha256=${hmac(secret, key + time + body)}`,
      },
    }
  },
  verify: async (request, { secret }) => {
    const sdk = await load<Record<string, unknown>>('@twurple/eventsub-http')
    return memberOf<Middleware>(sdk, 'EventSubMiddleware').prototype._verifyData.call(
      { _secret: secret },
      header(request, `${NAME}-id`),
      header(request, `${NAME}-timestamp`),
      request.body,
      header(request, `${NAME}-signature`),
    )
  },
}
