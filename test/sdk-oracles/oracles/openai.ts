import { load } from '../oracle.ts'
import type { SdkOracle } from '../oracle.ts'
import { signStandard } from '../standard-oracle.ts'

interface Sdk {
  readonly default: new (options: { apiKey: string; webhookSecret: string }) => {
    readonly webhooks: { unwrap(body: string, headers: object): Promise<object> }
  }
}

export const ORACLE: SdkOracle = {
  slug: 'openai',
  packages: ['openai', 'standardwebhooks'],
  sign: signStandard('webhook'),
  verify: async ({ body, headers }, { secret }) => {
    const { default: OpenAI } = await load<Sdk>('openai')
    await new OpenAI({ apiKey: 'unused', webhookSecret: secret }).webhooks.unwrap(body, headers)
    return true
  },
}
