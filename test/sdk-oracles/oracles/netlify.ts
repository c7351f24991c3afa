import { createHash } from 'node:crypto'
import { header, load } from '../oracle.ts'
import type { SdkOracle } from '../oracle.ts'

interface Jose {
  readonly SignJWT: new (claims: object) => {
    setProtectedHeader(header: object): { sign(key: Uint8Array): Promise<string> }
  }
  jwtVerify(
    token: string,
    key: Uint8Array,
    options: { algorithms: string[]; issuer: string },
  ): Promise<{ payload: Readonly<Record<string, unknown>> }>
}

const sha256 = (text: string) => createHash('sha256').update(text, 'utf8').digest('hex')

export const ORACLE: SdkOracle = {
  slug: 'netlify',
  packages: ['jose'],
  sign: async ({ headers, body }, { secret }) => {
    const { SignJWT } = await load<Jose>('jose')
    const token = await new SignJWT({ iss: 'netlify', sha256: sha256(body) })
      .setProtectedHeader({ alg: 'HS256', typ: 'JWT' })
      .sign(Buffer.from(secret, 'utf8'))
    return { headers: { ...headers, 'x-webhook-signature': token } }
  },
  verify: async (request, { secret }) => {
    const { jwtVerify } = await load<Jose>('jose')
    const token = header(request, 'x-webhook-signature')
    const { payload } = await jwtVerify(token, Buffer.from(secret, 'utf8'), {
      algorithms: ['HS256'],
      issuer: 'netlify',
    })
    return payload['sha256'] === sha256(request.body)
  },
}
