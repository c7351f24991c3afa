import { header, load, memberOf } from '../oracle.ts'
import type { SdkOracle } from '../oracle.ts'
import { signBody } from '../standard-oracle.ts'

type Validate = (body: string, secret: string, signature: string) => boolean

export const ORACLE: SdkOracle = {
  slug: 'line',
  packages: ['@line/bot-sdk'],
  sign: signBody('x-line-signature', { encoding: 'base64' }),
  verify: async (request, { secret }) => {
    const sdk = await load<Record<string, unknown>>('@line/bot-sdk')
    const validate = memberOf<Validate>(sdk, 'validateSignature')
    return validate(request.body, secret, header(request, 'x-line-signature'))
  },
}
