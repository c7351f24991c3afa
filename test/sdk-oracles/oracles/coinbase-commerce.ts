import { header, load, memberOf } from '../oracle.ts'
import type { SdkOracle } from '../oracle.ts'
import { signBody } from '../standard-oracle.ts'

interface Webhook {
  verifyEventBody(body: string, signature: string, secret: string): object
}

export const ORACLE: SdkOracle = {
  slug: 'coinbase_commerce',
  packages: ['coinbase-commerce-node'],
  sign: signBody('x-cc-webhook-signature'),
  verify: async (request, { secret }) => {
    const sdk = await load<Record<string, unknown>>('coinbase-commerce-node')
    const webhook = memberOf<Webhook>(sdk, 'Webhook')
    webhook.verifyEventBody(request.body, header(request, 'x-cc-webhook-signature'), secret)
    return true
  },
}
