import { load } from '../oracle.ts'
import type { SdkOracle } from '../oracle.ts'
import { signStandard } from '../standard-oracle.ts'

interface Sdk {
  readonly default: new (options: { apiKey: string }) => {
    readonly beta: {
      readonly webhooks: { unwrap(body: string, options: { headers: object; key: string }): object }
    }
  }
}

export const ORACLE: SdkOracle = {
  slug: 'anthropic',
  packages: ['@anthropic-ai/sdk', 'standardwebhooks'],
  sign: signStandard('webhook'),
  verify: async ({ body, headers }, { secret }) => {
    const { default: Anthropic } = await load<Sdk>('@anthropic-ai/sdk')
    new Anthropic({ apiKey: 'unused' }).beta.webhooks.unwrap(body, { headers, key: secret })
    return true
  },
}
