import { sign } from 'node:crypto'
import { header, load, memberOf, seconds } from '../oracle.ts'
import type { SdkOracle } from '../oracle.ts'

type VerifyKey = (
  body: string,
  signature: string,
  timestamp: string,
  publicKey: string,
) => Promise<boolean>

export const ORACLE: SdkOracle = {
  slug: 'discord',
  packages: ['discord-interactions'],
  keys: 'ed25519',
  sign: (request, { privateKey }) => {
    const signed = Buffer.from(seconds(request) + request.body, 'utf8')
    return {
      headers: {
        ...request.headers,
        'x-signature-timestamp': seconds(request),
        'x-signature-ed25519': sign(null, signed, privateKey).toString('hex'),
      },
    }
  },
  verify: async (request, { publicKey }) => {
    const sdk = await load<Record<string, unknown>>('discord-interactions')
    const raw = Buffer.from(publicKey.export({ format: 'jwk' }).x ?? '', 'base64url')
    return memberOf<VerifyKey>(sdk, 'verifyKey')(
      request.body,
      header(request, 'x-signature-ed25519'),
      header(request, 'x-signature-timestamp'),
      raw.toString('hex'),
    )
  },
}
