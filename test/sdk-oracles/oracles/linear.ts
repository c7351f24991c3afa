import { header, load } from '../oracle.ts'
import type { SdkOracle } from '../oracle.ts'
import { signBody } from '../standard-oracle.ts'

interface Sdk {
  readonly LinearWebhookClient: new (secret: string) => {
    verify(body: Buffer, signature: string): boolean
  }
}

export const ORACLE: SdkOracle = {
  slug: 'linear',
  packages: ['@linear/sdk'],
  sign: signBody('linear-signature'),
  verify: async (request, { secret }) => {
    const { LinearWebhookClient } = await load<Sdk>('@linear/sdk/webhooks')
    const body = Buffer.from(request.body, 'utf8')
    return new LinearWebhookClient(secret).verify(body, header(request, 'linear-signature'))
  },
}
