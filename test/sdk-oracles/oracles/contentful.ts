import { load } from '../oracle.ts'
import type { OracleRequest, SdkOracle } from '../oracle.ts'

interface CanonicalRequest {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}
interface Sdk {
  signRequest(secret: string, request: CanonicalRequest, at: number): Record<string, string>
  verifyRequest(secret: string, request: CanonicalRequest): boolean
}

const PACKAGE = '@contentful/node-apps-toolkit'
const canonical = ({ method, url: path, headers, body }: OracleRequest) => ({
  method,
  path,
  headers,
  body,
})

/** What signing adds. The library would sign those of the kit as any other header. */
const ADDED = /^x-contentful-(?:signature|signed-headers|timestamp)$/

function unsigned({ headers }: OracleRequest): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !ADDED.test(name)))
}

export const ORACLE: SdkOracle = {
  slug: 'contentful',
  packages: [PACKAGE],
  signsUrl: true,
  secrets: ['0123456789abcdef'.repeat(4), 'fedcba9876543210'.repeat(4)],
  sign: async (request, { secret }) => {
    const { signRequest } = await load<Sdk>(PACKAGE)
    const headers = unsigned(request)
    const signed = signRequest(secret, canonical({ ...request, headers }), request.at.getTime())
    return { headers: { ...headers, ...signed } }
  },
  verify: async (request, { secret }) =>
    (await load<Sdk>(PACKAGE)).verifyRequest(secret, canonical(request)),
}
