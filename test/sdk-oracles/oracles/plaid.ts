import { createHash } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import { header, load, seconds } from '../oracle.ts'
import type { SdkOracle } from '../oracle.ts'

interface Jose {
  readonly SignJWT: new (claims: object) => {
    setProtectedHeader(header: object): { sign(key: KeyObject): Promise<string> }
  }
  jwtVerify(
    token: string,
    key: KeyObject,
    options: { algorithms: string[]; maxTokenAge: string },
  ): Promise<{ payload: Readonly<Record<string, unknown>> }>
}

const sha256 = (text: string) => createHash('sha256').update(text, 'utf8').digest('hex')

/** Plaid's library fetches the key and leaves the judging to `jose`, as its documents do. */
export const ORACLE: SdkOracle = {
  slug: 'plaid',
  packages: ['jose'],
  keys: 'jwk',
  sign: async (request, { privateKey }) => {
    const { SignJWT } = await load<Jose>('jose')
    const claims = { iat: Number(seconds(request)), request_body_sha256: sha256(request.body) }
    const token = await new SignJWT(claims)
      .setProtectedHeader({ alg: 'ES256', kid: 'a-key', typ: 'JWT' })
      .sign(privateKey)
    return { headers: { ...request.headers, 'plaid-verification': token } }
  },
  verify: async (request, { publicKey }) => {
    const { jwtVerify } = await load<Jose>('jose')
    const { payload } = await jwtVerify(header(request, 'plaid-verification'), publicKey, {
      algorithms: ['ES256'],
      maxTokenAge: '5 min',
    })
    return payload['request_body_sha256'] === sha256(request.body)
  },
}
