import { hmac, load, memberOf } from '../oracle.ts'
import type { SdkOracle } from '../oracle.ts'

interface WebhooksManager {
  validateMessage(body: string, headers: object, primaryKey: string): Promise<boolean>
}

export const ORACLE: SdkOracle = {
  slug: 'box',
  packages: ['box-node-sdk'],
  sign: ({ headers, body, at }, { secret }) => {
    const time = at.toISOString()
    return {
      headers: {
        ...headers,
        'box-delivery-timestamp': time,
        'box-signature-version': '1',
        'box-signature-algorithm': 'HmacSHA256',
        'box-signature-primary': hmac(secret, body + time, 'sha256', 'base64'),
      },
    }
  },
  verify: async ({ body, headers }, { secret }) => {
    const managers = await load<Record<string, unknown>>('box-node-sdk/managers/webhooks')
    const manager = memberOf<WebhooksManager>(managers, 'WebhooksManager')
    return manager.validateMessage(body, headers, secret)
  },
}
