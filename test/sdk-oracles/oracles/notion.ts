import { header, load, memberOf } from '../oracle.ts'
import type { SdkOracle } from '../oracle.ts'

type Sign = (options: { body: string; verificationToken: string }) => Promise<string>
type Verify = (options: {
  body: string
  signature: string
  verificationToken: string
}) => Promise<boolean>

const sdk = () => load<Record<string, unknown>>('@notionhq/client')

export const ORACLE: SdkOracle = {
  slug: 'notion',
  packages: ['@notionhq/client'],
  sign: async ({ headers, body }, { secret }) => {
    const sign = memberOf<Sign>(await sdk(), 'signWebhookPayload')
    const signature = await sign({ body, verificationToken: secret })
    return { headers: { ...headers, 'x-notion-signature': signature } }
  },
  verify: async (request, { secret }) =>
    memberOf<Verify>(
      await sdk(),
      'verifyWebhookSignature',
    )({
      body: request.body,
      signature: header(request, 'x-notion-signature'),
      verificationToken: secret,
    }),
}
