import { header, load } from '../oracle.ts'
import type { SdkOracle } from '../oracle.ts'
import { signBody } from '../standard-oracle.ts'

interface Sdk {
  readonly WhatsAppAPI: new (options: { token: string; appSecret: string }) => {
    verifyRequestSignature(body: string, signature: string): Promise<boolean>
  }
}

/** A library of others: Meta has none for webhooks. */
export const ORACLE: SdkOracle = {
  slug: 'meta',
  packages: ['whatsapp-api-js'],
  options: ({ secret }) => ({ secrets: [secret], verifyToken: 'a-token-of-ours' }),
  fixtureOnly:
    'the library escapes what is not ASCII before it hashes, as Meta does before it sends',
  sign: signBody('x-hub-signature-256', { prefix: 'sha256=' }),
  verify: async (request, { secret }) => {
    const { WhatsAppAPI } = await load<Sdk>('whatsapp-api-js')
    const api = new WhatsAppAPI({ token: 'unused', appSecret: secret })
    return api.verifyRequestSignature(request.body, header(request, 'x-hub-signature-256'))
  },
}
