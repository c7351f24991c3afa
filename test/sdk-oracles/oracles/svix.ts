import type { SdkOracle } from '../oracle.ts'
import { signStandard, verifyStandard } from '../standard-oracle.ts'

export const ORACLE: SdkOracle = {
  slug: 'svix',
  packages: ['svix'],
  sign: signStandard('svix', 'svix'),
  verify: verifyStandard('svix'),
}
