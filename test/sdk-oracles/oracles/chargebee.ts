import { load, memberOf } from '../oracle.ts'
import type { SdkOracle } from '../oracle.ts'

type Validator = (
  isRight: (user: string, password: string) => boolean,
) => (headers: object) => Promise<void>

export const ORACLE: SdkOracle = {
  slug: 'chargebee',
  packages: ['chargebee'],
  secrets: ['user:a password of: some length', 'user:another password of: some length'],
  bodyIsUnsigned: 'Chargebee shows a password and signs nothing',
  sign: ({ headers }, { secret }) => ({
    headers: {
      ...headers,
      authorization: `Basic ${Buffer.from(secret, 'utf8').toString('base64')}`,
    },
  }),
  verify: async ({ headers }, { secret }) => {
    const sdk = await load<Record<string, unknown>>('chargebee')
    const judge = memberOf<Validator>(sdk, 'basicAuthValidator')
    await judge((user, password) => `${user}:${password}` === secret)(headers)
    return true
  },
}
