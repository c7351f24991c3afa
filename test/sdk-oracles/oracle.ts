/**
 * A provider's own library as judge and signer, described by data first.
 *
 * An oracle signs a request as the provider does (with the library, or with Node's own crypto where the
 * library only verifies) and says whether the library believes one. `sdk-oracles.test.ts` does the rest.
 *
 * @module
 */

import { createHmac, generateKeyPairSync } from 'node:crypto'
import type { KeyObject } from 'node:crypto'

export interface SdkOracle {
  /** The provider's slug. It is looked up when the test runs. */
  readonly slug: string
  /** The packages of this folder that it uses. */
  readonly packages: readonly string[]
  /**
   * What the two sides sign and verify with.
   *
   * @defaultValue 'secret'
   */
  readonly keys?: KeyKind
  /** Two secrets in the provider's shape. The second is never the right one. */
  readonly secrets?: readonly [string, string]
  /**
   * The options of the source.
   *
   * @defaultValue what the kind of keys goes by: `secrets`, `publicKey`, `jwk` or `certificate`
   */
  readonly options?: (keys: OracleKeys) => object
  /** Whether the provider signs its URL, which the source is then told. */
  readonly signsUrl?: true
  /** Why the library cannot be shown bytes as they come: it writes the JSON anew, or knows some shapes only. */
  readonly fixtureOnly?: string
  /**
   * The fixture's event types that the library can judge.
   *
   * @defaultValue all of them
   */
  readonly types?: readonly string[]
  /**
   * Spoils a signed body, where not every value in it is signed.
   *
   * @defaultValue one character of the first value changed
   */
  readonly tamper?: (body: string) => string
  /** Why a changed body is believed, for schemes that sign none of it. */
  readonly bodyIsUnsigned?: string
  /** What signing adds to a request or changes in it. */
  readonly sign: (
    request: OracleRequest,
    keys: OracleKeys,
  ) => Partial<OracleRequest> | Promise<Partial<OracleRequest>>
  /** Whether the library believes it. A throw is a no. */
  readonly verify: (request: OracleRequest, keys: OracleKeys) => boolean | Promise<boolean>
}

export type KeyKind = 'secret' | 'ed25519' | 'ec' | 'jwk' | 'rsa'

export interface OracleRequest {
  readonly method: string
  /** Path and query. */
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly at: Date
  /** The event's id, for schemes that sign one. */
  readonly key: string
}

export interface OracleKeys {
  readonly secret: string
  readonly privateKey: KeyObject
  readonly publicKey: KeyObject
  readonly publicUrl: string
}

/**
 * Loads a package of this folder. By name and at run time, with the few members an oracle uses as its
 * type: so the repository compiles where these packages are not installed.
 */
export async function load<Sdk>(specifier: string): Promise<Sdk> {
  return (await import(/* @vite-ignore */ specifier)) as Sdk
}

/** A member of a CommonJS package, which Node puts on the module or on its default export. */
export function memberOf<Member>(module: Readonly<Record<string, unknown>>, name: string): Member {
  const inner = (module['default'] ?? {}) as Readonly<Record<string, unknown>>
  return (module[name] ??
    inner[name] ??
    (inner['default'] as typeof inner | undefined)?.[name]) as Member
}

/** HMAC by Node's own crypto: shares no code with the libraries nor with ours. */
export function hmac(
  secret: string | Buffer,
  text: string,
  algorithm: 'sha1' | 'sha256' = 'sha256',
  encoding: 'hex' | 'base64' = 'hex',
): string {
  return createHmac(algorithm, secret).update(text, 'utf8').digest(encoding)
}

export function header({ headers }: OracleRequest, name: string): string {
  const value = headers[name]
  if (value === undefined) throw new Error(`no header ${name}`)
  return value
}

export function seconds({ at }: OracleRequest): string {
  return String(Math.floor(at.getTime() / 1000))
}

const SECRETS = ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', 'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD']

/** The right keys and others, in this order. */
export function makeKeys({ keys = 'secret', secrets = SECRETS as [string, string] }: SdkOracle) {
  return secrets.map((secret): OracleKeys => {
    const pair =
      keys === 'rsa'
        ? generateKeyPairSync('rsa', { modulusLength: 2048 })
        : keys === 'ed25519'
          ? generateKeyPairSync('ed25519')
          : generateKeyPairSync('ec', { namedCurve: 'P-256' })
    return { secret, ...pair, publicUrl: 'https://example.com/in/source' }
  }) as [OracleKeys, OracleKeys]
}

export function optionsOf(oracle: SdkOracle, keys: OracleKeys): object {
  const url = oracle.signsUrl === true ? { publicUrl: keys.publicUrl } : {}
  return { ...(oracle.options?.(keys) ?? KEY_OPTIONS[oracle.keys ?? 'secret'](keys)), ...url }
}

const pem = ({ publicKey }: OracleKeys) => publicKey.export({ format: 'pem', type: 'spki' })

const KEY_OPTIONS: Readonly<Record<KeyKind, (keys: OracleKeys) => object>> = {
  secret: ({ secret }) => ({ secrets: [secret] }),
  ed25519: (keys) => ({ publicKey: pem(keys) }),
  ec: (keys) => ({ publicKey: pem(keys) }),
  jwk: ({ publicKey }) => ({ jwk: publicKey.export({ format: 'jwk' }) }),
  rsa: (keys) => ({ certificate: pem(keys) }),
}
