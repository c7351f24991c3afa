import { hmac, load, memberOf } from '../oracle.ts'
import type { SdkOracle } from '../oracle.ts'

type WebflowClient = new (options: { accessToken: string }) => {
  readonly webhooks: {
    verifySignature(options: { headers: object; body: string; secret: string }): Promise<boolean>
  }
}

export const ORACLE: SdkOracle = {
  slug: 'webflow',
  packages: ['webflow-api'],
  sign: ({ headers, body, at }, { secret }) => {
    const time = String(at.getTime())
    return {
      headers: {
        ...headers,
        'x-webflow-timestamp': time,
        'x-webflow-signature': hmac(secret, `${time}:${body}`),
      },
    }
  },
  verify: async ({ headers, body }, { secret }) => {
    const sdk = await load<Record<string, unknown>>('webflow-api')
    const Client = memberOf<WebflowClient>(sdk, 'WebflowClient')
    return new Client({ accessToken: 'unused' }).webhooks.verifySignature({ headers, body, secret })
  },
}
