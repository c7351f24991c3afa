import { header, load, memberOf } from '../oracle.ts'
import type { SdkOracle } from '../oracle.ts'
import { signBody } from '../standard-oracle.ts'

type Validate = (body: string, signature: string, secret: string) => boolean

export const ORACLE: SdkOracle = {
  slug: 'razorpay',
  packages: ['razorpay'],
  sign: signBody('x-razorpay-signature'),
  verify: async (request, { secret }) => {
    const sdk = await load<Record<string, unknown>>('razorpay')
    const validate = memberOf<Validate>(sdk, 'validateWebhookSignature')
    return validate(request.body, header(request, 'x-razorpay-signature'), secret)
  },
}
