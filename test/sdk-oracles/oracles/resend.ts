import { header, load } from '../oracle.ts'
import type { SdkOracle } from '../oracle.ts'
import { signStandard } from '../standard-oracle.ts'

interface Sdk {
  readonly Resend: new (key: string) => {
    readonly webhooks: {
      verify(options: {
        payload: string
        headers: { id: string; timestamp: string; signature: string }
        webhookSecret: string
      }): object
    }
  }
}

export const ORACLE: SdkOracle = {
  slug: 'resend',
  packages: ['resend', 'svix'],
  sign: signStandard('svix', 'svix'),
  verify: async (request, { secret }) => {
    const { Resend } = await load<Sdk>('resend')
    new Resend('re_unused').webhooks.verify({
      payload: request.body,
      headers: {
        id: header(request, 'svix-id'),
        timestamp: header(request, 'svix-timestamp'),
        signature: header(request, 'svix-signature'),
      },
      webhookSecret: secret,
    })
    return true
  },
}
