import { header, load, memberOf } from '../oracle.ts'
import type { SdkOracle } from '../oracle.ts'

interface SignatureValidator {
  createSignature(payload: string, secret: string): Promise<string>
  validate(payload: string, secret: string, signature: string): Promise<boolean>
}

const validator = async () => {
  const module = 'mollie-api-typescript/utils/webhooks/index.js'
  return memberOf<SignatureValidator>(
    await load<Record<string, unknown>>(module),
    'SignatureValidator',
  )
}

export const ORACLE: SdkOracle = {
  slug: 'mollie',
  packages: ['mollie-api-typescript'],
  sign: async ({ headers, body }, { secret }) => {
    const signature = await (await validator()).createSignature(body, secret)
    return { headers: { ...headers, 'x-mollie-signature': `sha256=${signature}` } }
  },
  verify: async (request, { secret }) =>
    (await validator()).validate(request.body, secret, header(request, 'x-mollie-signature')),
}
