import { hmac, load } from '../oracle.ts'
import type { SdkOracle } from '../oracle.ts'

interface Sdk {
  readonly default: new (options: { appId: string; key: string; secret: string }) => {
    webhook(request: { headers: object; rawBody: string }): { isValid(): boolean }
  }
}

const KEY = '0123456789abcdef0123'

export const ORACLE: SdkOracle = {
  slug: 'pusher',
  packages: ['pusher'],
  sign: ({ headers, body }, { secret }) => ({
    headers: { ...headers, 'x-pusher-key': KEY, 'x-pusher-signature': hmac(secret, body) },
  }),
  verify: async ({ headers, body }, { secret }) => {
    const { default: Pusher } = await load<Sdk>('pusher')
    const key = headers['x-pusher-key'] ?? ''
    return new Pusher({ appId: '1', key, secret }).webhook({ headers, rawBody: body }).isValid()
  },
}
