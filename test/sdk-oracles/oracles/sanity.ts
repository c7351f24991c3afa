import { header, load } from '../oracle.ts'
import type { SdkOracle } from '../oracle.ts'

interface Sdk {
  encodeSignatureHeader(payload: string, timestamp: number, secret: string): Promise<string>
  isValidSignature(payload: string, signature: string, secret: string): Promise<boolean>
}

const PACKAGE = '@sanity/webhook'

export const ORACLE: SdkOracle = {
  slug: 'sanity',
  packages: [PACKAGE],
  sign: async ({ headers, body, at }, { secret }) => {
    const { encodeSignatureHeader } = await load<Sdk>(PACKAGE)
    const signature = await encodeSignatureHeader(body, at.getTime(), secret)
    return { headers: { ...headers, 'sanity-webhook-signature': signature } }
  },
  verify: async (request, { secret }) => {
    const { isValidSignature } = await load<Sdk>(PACKAGE)
    return isValidSignature(request.body, header(request, 'sanity-webhook-signature'), secret)
  },
}
