import { header, load, memberOf } from '../oracle.ts'
import type { SdkOracle } from '../oracle.ts'

interface Options {
  readonly clientSecret: string
  readonly requestBody: string
  readonly url: string
  readonly timestamp: number
}
interface Signature {
  getSignature(method: string, version: 'v3', options: Options): string
  isValid(options: Options & { signature: string; signatureVersion: 'v3'; method: string }): boolean
}

const sdk = async () =>
  memberOf<Signature>(await load<Record<string, unknown>>('@hubspot/api-client'), 'Signature')

export const ORACLE: SdkOracle = {
  slug: 'hubspot',
  packages: ['@hubspot/api-client'],
  signsUrl: true,
  sign: async ({ method, headers, body, at }, { secret, publicUrl }) => {
    const timestamp = at.getTime()
    const options = { clientSecret: secret, requestBody: body, url: publicUrl, timestamp }
    return {
      headers: {
        ...headers,
        'x-hubspot-request-timestamp': String(timestamp),
        'x-hubspot-signature-v3': (await sdk()).getSignature(method, 'v3', options),
      },
    }
  },
  verify: async (request, { secret, publicUrl }) =>
    (await sdk()).isValid({
      method: request.method,
      clientSecret: secret,
      requestBody: request.body,
      url: publicUrl,
      timestamp: Number(header(request, 'x-hubspot-request-timestamp')),
      signature: header(request, 'x-hubspot-signature-v3'),
      signatureVersion: 'v3',
    }),
}
