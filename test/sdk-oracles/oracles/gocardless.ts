import { header, load, memberOf } from '../oracle.ts'
import type { SdkOracle } from '../oracle.ts'
import { signBody } from '../standard-oracle.ts'

type Parse = (body: string, secret: string, signature: string) => object

export const ORACLE: SdkOracle = {
  slug: 'gocardless',
  packages: ['gocardless-nodejs'],
  sign: signBody('webhook-signature'),
  verify: async (request, { secret }) => {
    const webhooks = await load<Record<string, unknown>>('gocardless-nodejs/webhooks')
    memberOf<Parse>(webhooks, 'parse')(request.body, secret, header(request, 'webhook-signature'))
    return true
  },
}
