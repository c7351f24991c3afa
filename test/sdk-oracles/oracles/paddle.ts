import { header, hmac, load, seconds } from '../oracle.ts'
import type { SdkOracle } from '../oracle.ts'

interface Sdk {
  readonly Paddle: new (key: string) => {
    readonly webhooks: {
      isSignatureValid(body: string, secret: string, signature: string): Promise<boolean>
    }
  }
}

export const ORACLE: SdkOracle = {
  slug: 'paddle',
  packages: ['@paddle/paddle-node-sdk'],
  sign: (request, { secret }) => {
    const signature = hmac(secret, `${seconds(request)}:${request.body}`)
    return {
      headers: { ...request.headers, 'paddle-signature': `ts=${seconds(request)};h1=${signature}` },
    }
  },
  verify: async (request, { secret }) => {
    const { Paddle } = await load<Sdk>('@paddle/paddle-node-sdk')
    const { webhooks } = new Paddle('unused')
    return webhooks.isSignatureValid(request.body, secret, header(request, 'paddle-signature'))
  },
}
