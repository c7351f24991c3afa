import { load } from '../oracle.ts'
import type { SdkOracle } from '../oracle.ts'
import { signStandard } from '../standard-oracle.ts'

interface Sdk {
  verifyWebhook(request: Request, options: { signingSecret: string }): Promise<object>
}

export const ORACLE: SdkOracle = {
  slug: 'clerk',
  packages: ['@clerk/backend', 'svix'],
  sign: signStandard('svix', 'svix'),
  verify: async ({ body, headers }, { secret, publicUrl }) => {
    const { verifyWebhook } = await load<Sdk>('@clerk/backend/webhooks')
    const request = new Request(publicUrl, { method: 'POST', headers, body })
    await verifyWebhook(request, { signingSecret: secret })
    return true
  },
}
