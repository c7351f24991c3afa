import type { SdkOracle } from '../oracle.ts'
import { signStandard, verifyStandard } from '../standard-oracle.ts'

/** With a signing token. The older secret token is a plain text that no library looks at. */
export const ORACLE: SdkOracle = {
  slug: 'gitlab',
  packages: ['standardwebhooks'],
  sign: signStandard('webhook'),
  verify: verifyStandard(),
}
