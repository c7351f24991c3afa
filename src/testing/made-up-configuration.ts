import { generateKeyPairSync } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import type { Verification } from '../providers/index.ts'
import type { Configuration } from './fixture.ts'

const SECRETS = ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', 'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD']

/** Options and credentials that belong together, by the names of the options that a scheme takes. */
export function madeUpConfiguration(
  { optionNames, kind }: Verification,
  which: 0 | 1,
): Configuration {
  const has = (name: string) => optionNames.includes(name)
  const secret = kind === 'basic' ? `user:${SECRETS[which]}` : (SECRETS[which] as string)
  const publicUrl = 'https://example.com/in/source'
  const url = has('publicUrl') ? { publicUrl } : {}
  if (has('secrets'))
    return { options: { secrets: [secret], ...url }, credentials: { secret, ...url } }
  const pair = keyPair(
    has('publicKey') ? (kind === 'ed25519' ? 'ed25519' : 'ec') : has('jwk') ? 'ec' : 'rsa',
    which,
  )
  const credentials = { privateKey: pair.privateKey, ...url }
  if (has('jwk'))
    return { options: { jwk: pair.publicKey.export({ format: 'jwk' }), ...url }, credentials }
  const pem = pair.publicKey.export({ format: 'pem', type: 'spki' })
  return { options: { [has('publicKey') ? 'publicKey' : 'certificate']: pem, ...url }, credentials }
}

const PAIRS = new Map<string, { publicKey: KeyObject; privateKey: KeyObject }>()

/** Made once: an RSA key takes longer than all that is done with it. */
export function keyPair(kind: 'ed25519' | 'ec' | 'rsa', which: 0 | 1) {
  const name = `${kind}-${which}`
  const made =
    PAIRS.get(name) ??
    (kind === 'ed25519'
      ? generateKeyPairSync('ed25519')
      : kind === 'ec'
        ? generateKeyPairSync('ec', { namedCurve: 'P-256' })
        : generateKeyPairSync('rsa', { modulusLength: 2048 }))
  PAIRS.set(name, made)
  return made
}
