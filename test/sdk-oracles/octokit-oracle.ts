import { header, load } from './oracle.ts'
import type { SdkOracle } from './oracle.ts'

interface Sdk {
  sign(secret: string, payload: string): Promise<string>
  verify(secret: string, payload: string, signature: string): Promise<boolean>
}

const PACKAGE = '@octokit/webhooks-methods'

/** GitHub's library, for it and for senders that sign the same way under another header. */
export function octokitOracle(slug: string, signatureHeader: string): SdkOracle {
  return {
    slug,
    packages: [PACKAGE],
    sign: async ({ headers, body }, { secret }) => ({
      headers: {
        ...headers,
        [signatureHeader]: await (await load<Sdk>(PACKAGE)).sign(secret, body),
      },
    }),
    verify: async (request, { secret }) =>
      (await load<Sdk>(PACKAGE)).verify(secret, request.body, header(request, signatureHeader)),
  }
}
