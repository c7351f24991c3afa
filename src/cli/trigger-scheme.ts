/**
 * What `hookonce trigger` has to know of the scheme of a provider: which private key signs, and whether a delivery can
 * be old.
 *
 * @module
 */

import { createPrivateKey, generateKeyPairSync } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import { OptionInvalidError } from '../errors.ts'
import type { HmacOptions, JwtSpec, ProviderDefinition, Verification } from '../providers/index.ts'

/** The provider of a source, and the options that the source has. */
export interface TriggerSource {
  readonly provider: string
  /** Undefined for `hmac`, whose options say it all. */
  readonly verify: ProviderDefinition['verify'] | undefined
  readonly options: Readonly<Record<string, unknown>>
}

type KeyKind = 'ed25519' | 'ec' | 'rsa'

const DAY_SECONDS = 86_400

/**
 * When a delivery was signed that is too old for the source: a day ago, or twice as long ago as it takes.
 *
 * @throws OptionInvalidError where no time is signed, so that no delivery is ever too old
 */
export function findOldTime(source: TriggerSource): Date {
  const toleranceSeconds = findToleranceSeconds(source)
  if (toleranceSeconds !== undefined)
    return new Date(Date.now() - Math.max(DAY_SECONDS, 2 * toleranceSeconds) * 1_000)
  throw new OptionInvalidError('--old', {
    message: `--old: ${source.provider} signs no time that the source looks at, so that no delivery is too old. Leave --old out`,
  })
}

function findToleranceSeconds({ verify, options }: TriggerSource): number | undefined {
  if (verify === undefined) {
    const { timestamp } = options as Partial<HmacOptions>
    return timestamp && (timestamp.toleranceSeconds ?? 0)
  }
  // Of several schemes the first signs.
  const [first] = verify.choices ?? []
  if (first !== undefined) return findToleranceSeconds({ provider: '', verify: first.use, options })
  const chosen = options['toleranceSeconds']
  // A token says when it was made, also where nothing but the option has it looked at.
  const isTimed = verify.toleranceSeconds !== undefined || verify.kind === 'jwt'
  return isTimed && typeof chosen === 'number' ? chosen : verify.toleranceSeconds
}

/**
 * @throws OptionInvalidError for a text that is no private key
 */
export function readPrivateKey(pem: Uint8Array): KeyObject {
  try {
    return createPrivateKey(Buffer.from(pem))
  } catch {
    throw new OptionInvalidError('--private-key', {
      message: '--private-key must be a file with a private key in PEM, without a passphrase',
    })
  }
}

/**
 * @throws OptionInvalidError for a private key that the source cannot be signed for with, and for none where only one
 * will do
 */
export function requireSigner(
  source: TriggerSource,
  { secrets, privateKey }: { readonly secrets: readonly string[]; readonly privateKey?: KeyObject },
): void {
  const { provider, options } = source
  const kind = findKeyKind(source.verify)
  if (privateKey !== undefined) {
    if (kind === undefined)
      throw refuse(`${provider} does not sign with a private key. Say --secret in its place`)
    if (privateKey.asymmetricKeyType !== kind)
      throw refuse(
        `${provider} signs with a key of the kind ${kind}, and this is one of the kind ${privateKey.asymmetricKeyType}`,
      )
  } else if (kind !== undefined) {
    const takesSecrets = source.verify?.optionNames.includes('secrets') === true
    if (takesSecrets && (secrets.length > 0 || options['publicKey'] === undefined)) return
    throw refuse(
      `${provider} signs with a private key that only ${provider} has. Make a pair of keys (${kind}) of your own, give the source its public key, and say --private-key <file>`,
    )
  }
}

function findKeyKind(verify: Verification | undefined): KeyKind | undefined {
  switch (verify?.kind) {
    case 'ed25519':
      return 'ed25519'
    case 'ecdsa':
      return 'ec'
    case 'rsa':
      return 'rsa'
    case 'standard':
      return verify.optionNames.includes('publicKey') ? 'ed25519' : undefined
    case 'jwt': {
      const { algorithm } = verify.spec as JwtSpec
      return algorithm === 'HS256' ? undefined : algorithm === 'ES256' ? 'ec' : 'rsa'
    }
    default:
      return undefined
  }
}

function refuse(problem: string): OptionInvalidError {
  return new OptionInvalidError('--private-key', { message: `--private-key: ${problem}` })
}

/** Of the same kind: it must fail by its signature and not by its shape. */
export function anotherPrivateKey(key: KeyObject): KeyObject {
  switch (key.asymmetricKeyType) {
    case 'rsa':
      return generateKeyPairSync('rsa', { modulusLength: 2_048 }).privateKey
    case 'ec': {
      const { namedCurve = 'P-256' } = key.asymmetricKeyDetails ?? {}
      return generateKeyPairSync('ec', { namedCurve }).privateKey
    }
    default:
      return generateKeyPairSync('ed25519').privateKey
  }
}
