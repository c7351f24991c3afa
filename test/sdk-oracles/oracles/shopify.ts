import { header, load, memberOf } from '../oracle.ts'
import type { SdkOracle } from '../oracle.ts'
import { signBody } from '../standard-oracle.ts'

type ShopifyApi = (config: object) => {
  readonly webhooks: {
    validate(options: { rawBody: string; rawRequest: Request }): Promise<{ valid: boolean }>
  }
}

export const ORACLE: SdkOracle = {
  slug: 'shopify',
  packages: ['@shopify/shopify-api'],
  sign: signBody('x-shopify-hmac-sha256', { encoding: 'base64' }),
  verify: async (request, { secret, publicUrl }) => {
    await load('@shopify/shopify-api/adapters/web-api')
    const sdk = await load<Record<string, unknown>>('@shopify/shopify-api')
    const { webhooks } = memberOf<ShopifyApi>(
      sdk,
      'shopifyApi',
    )({
      apiKey: 'unused',
      apiSecretKey: secret,
      scopes: [],
      hostName: 'example.com',
      isEmbeddedApp: false,
      apiVersion: '2026-01',
      logger: { log: () => undefined },
    })
    // Headers that the library asks for beside the signature, where the sample has none.
    const defaults = {
      'x-shopify-topic': 'orders/paid',
      'x-shopify-shop-domain': 'example.myshopify.com',
      'x-shopify-api-version': '2026-01',
      'x-shopify-webhook-id': 'b54557e4',
    }
    const headers = { ...defaults, ...request.headers }
    header(request, 'x-shopify-hmac-sha256')
    const rawRequest = new Request(publicUrl, { method: 'POST', headers, body: request.body })
    return (await webhooks.validate({ rawBody: request.body, rawRequest })).valid
  },
}
