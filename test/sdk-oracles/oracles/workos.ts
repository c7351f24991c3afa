import { header, load } from '../oracle.ts'
import type { SdkOracle } from '../oracle.ts'

interface Sdk {
  readonly WorkOS: new (key: string) => {
    readonly webhooks: {
      computeSignature(timestamp: number, payload: object, secret: string): Promise<string>
      verifyHeader(options: {
        payload: object
        sigHeader: string
        secret: string
        tolerance: number
      }): Promise<boolean>
    }
  }
}

const webhooks = async () => new (await load<Sdk>('@workos-inc/node')).WorkOS('sk_unused').webhooks

export const ORACLE: SdkOracle = {
  slug: 'workos',
  packages: ['@workos-inc/node'],
  fixtureOnly: 'the library writes the JSON anew before it hashes it',
  sign: async ({ headers, body, at }, { secret }) => {
    const time = at.getTime()
    const signature = await (
      await webhooks()
    ).computeSignature(time, JSON.parse(body) as object, secret)
    return { headers: { ...headers, 'workos-signature': `t=${time}, v1=${signature}` } }
  },
  verify: async (request, { secret }) =>
    (await webhooks()).verifyHeader({
      payload: JSON.parse(request.body) as object,
      sigHeader: header(request, 'workos-signature'),
      secret,
      tolerance: 180_000,
    }),
}
