import { header, load } from '../oracle.ts'
import type { SdkOracle } from '../oracle.ts'

interface Sdk {
  sign(secret: string, payload: string): Promise<string>
  verify(secret: string, payload: string, signature: string): Promise<boolean>
}

const PACKAGE = '@octokit/webhooks-methods'

export const ORACLE: SdkOracle = {
  slug: 'github',
  packages: [PACKAGE],
  sign: async ({ headers, body }, { secret }) => ({
    headers: {
      ...headers,
      'x-hub-signature-256': await (await load<Sdk>(PACKAGE)).sign(secret, body),
    },
  }),
  verify: async (request, { secret }) =>
    (await load<Sdk>(PACKAGE)).verify(secret, request.body, header(request, 'x-hub-signature-256')),
}
