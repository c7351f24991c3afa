/**
 * What the cases in `cases/` are written with. The checks themselves are the kit's, which users run on
 * providers of their own.
 */

export { keyPair } from '../../src/testing/made-up-configuration.ts'
export type { Configuration } from '../../src/testing/fixture.ts'
export type {
  HandshakeCase,
  ProviderCase,
  Resign,
  Uncovered,
} from '../../src/testing/provider-case.ts'
