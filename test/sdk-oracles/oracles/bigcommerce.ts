import type { SdkOracle } from '../oracle.ts'
import { signStandard, verifyStandard } from '../standard-oracle.ts'

const encode = (secret: string) => Buffer.from(secret, 'utf8').toString('base64')

/** The key is the text of the client secret; the library wants it in base64. */
export const ORACLE: SdkOracle = {
  slug: 'bigcommerce',
  packages: ['standardwebhooks'],
  secrets: ['a-client-secret-of-bigcommerce-0001', 'a-client-secret-of-bigcommerce-0002'],
  sign: (request, keys) =>
    signStandard('webhook')(request, { ...keys, secret: encode(keys.secret) }),
  verify: (request, keys) => verifyStandard()(request, { ...keys, secret: encode(keys.secret) }),
}
