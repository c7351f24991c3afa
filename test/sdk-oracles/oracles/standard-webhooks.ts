import type { SdkOracle } from '../oracle.ts'
import { signStandard, verifyStandard } from '../standard-oracle.ts'

export const ORACLE: SdkOracle = {
  slug: 'standard_webhooks',
  packages: ['standardwebhooks'],
  sign: signStandard('webhook'),
  verify: verifyStandard(),
}
