import { header, load, seconds } from '../oracle.ts'
import type { SdkOracle } from '../oracle.ts'

interface Sdk {
  readonly default: new (key: string) => {
    readonly webhooks: {
      generateTestHeaderString(options: {
        payload: string
        secret: string
        timestamp: number
      }): string
      constructEvent(body: string, signature: string, secret: string): object
    }
  }
}

const webhooks = async () => new (await load<Sdk>('stripe')).default('sk_test_unused').webhooks

export const ORACLE: SdkOracle = {
  slug: 'stripe',
  packages: ['stripe'],
  sign: async (request, { secret }) => ({
    headers: {
      ...request.headers,
      'stripe-signature': (await webhooks()).generateTestHeaderString({
        payload: request.body,
        secret,
        timestamp: Number(seconds(request)),
      }),
    },
  }),
  verify: async (request, { secret }) => {
    ;(await webhooks()).constructEvent(request.body, header(request, 'stripe-signature'), secret)
    return true
  },
}
