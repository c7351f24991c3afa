import { hmac, load, memberOf, seconds } from '../oracle.ts'
import type { SdkOracle } from '../oracle.ts'

type VerifySlackRequest = (options: {
  signingSecret: string
  body: string
  headers: object
}) => undefined

/** The file itself: the package's entry loads clients that need more packages. */
const MODULE = '@slack/bolt/dist/receivers/verify-request.js'

export const ORACLE: SdkOracle = {
  slug: 'slack',
  packages: ['@slack/bolt'],
  sign: (request, { secret }) => ({
    headers: {
      ...request.headers,
      'x-slack-request-timestamp': seconds(request),
      'x-slack-signature': `v0=${hmac(secret, `v0:${seconds(request)}:${request.body}`)}`,
    },
  }),
  verify: async ({ body, headers }, { secret }) => {
    const bolt = await load<Record<string, unknown>>(MODULE)
    memberOf<VerifySlackRequest>(
      bolt,
      'verifySlackRequest',
    )({ signingSecret: secret, body, headers })
    return true
  },
}
