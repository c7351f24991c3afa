import { header, hmac, load, memberOf } from '../oracle.ts'
import type { SdkOracle } from '../oracle.ts'

interface WebhooksHelper {
  verifySignature(options: {
    requestBody: string
    signatureHeader: string
    signatureKey: string
    notificationUrl: string
  }): Promise<boolean>
}

const SIGNATURE = 'x-square-hmacsha256-signature'

export const ORACLE: SdkOracle = {
  slug: 'square',
  packages: ['square'],
  signsUrl: true,
  sign: ({ headers, body }, { secret, publicUrl }) => ({
    headers: { ...headers, [SIGNATURE]: hmac(secret, publicUrl + body, 'sha256', 'base64') },
  }),
  verify: async (request, { secret, publicUrl }) => {
    const square = await load<Record<string, unknown>>('square')
    return memberOf<WebhooksHelper>(square, 'WebhooksHelper').verifySignature({
      requestBody: request.body,
      signatureHeader: header(request, SIGNATURE),
      signatureKey: secret,
      notificationUrl: publicUrl,
    })
  },
}
