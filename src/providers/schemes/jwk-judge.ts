import type { KeyObject } from 'node:crypto'
import { OptionInvalidError } from '../../errors.ts'
import type { SourceOptions, VerdictReason } from '../../model/source.ts'
import { fetchOverTls } from '../../verify/fetch-over-tls.ts'
import type { TextFetcher } from '../../verify/fetch-text.ts'
import { Jwks } from '../../verify/jwks.ts'
import type { JwksPlace } from '../../verify/jwks.ts'
import { isJwtSignedBy } from '../../verify/jwt.ts'
import type { JwtAlgorithm, ParsedJwt } from '../../verify/jwt.ts'
import { KeyCache } from '../../verify/key-cache.ts'
import type { KeyTrouble } from '../../verify/key-cache.ts'
import { findJwkKey } from '../../verify/public-key.ts'
import type { BuildContext } from './verification.ts'

/** For providers whose keys are fetched by the name in the token. */
export interface JwkOptions extends SourceOptions {
  /** The provider's public keys as JSON Web Keys, tried before any is fetched. May be left out where `fetchKey` is given. */
  readonly jwk?: object | readonly object[]
  /**
   * Gets a key by its id from the provider's API, with your credentials. Cached; never called with an
   * address from a request. May be left out where `jwk` is given.
   */
  readonly fetchKey?: (keyId: string, signal: AbortSignal) => Promise<object | undefined>
  /**
   * How old the token may be.
   *
   * @defaultValue the provider's, see its page
   */
  readonly toleranceSeconds?: number
}

/** For providers that publish their keys as a set, at an address that the declaration pins. */
export interface JwksOptions extends SourceOptions {
  /** The provider's public keys as JSON Web Keys, tried before any are fetched. Left out, all are fetched. */
  readonly jwk?: object | readonly object[]
  /**
   * What fetches the keys.
   *
   * @defaultValue a GET over TLS that checks the host's certificate, whatever the environment says
   */
  readonly fetch?: TextFetcher
}

export interface JwkSpec {
  readonly algorithm: Exclude<JwtAlgorithm, 'HS256'>
  /** Where the provider publishes its keys, if it does. */
  readonly jwks?: JwksPlace | undefined
}

/** The name of the key that signed a token, or why there is none. */
export type FindTokenSigner = (
  token: ParsedJwt,
) => Promise<{ readonly signer: string } | VerdictReason>

/** The options that say where the keys come from. */
export function listJwkOptionNames({ jwks }: { readonly jwks?: unknown }): readonly string[] {
  return ['jwk', jwks === undefined ? 'fetchKey' : 'fetch']
}

export function jwkJudge(spec: JwkSpec, context: BuildContext): FindTokenSigner {
  const { algorithm } = spec
  const known = requireJwks(spec, context)
  const finder = keyFinder(spec, context)
  return async (token) => {
    // A key without an id is for every token; a token without an id is for every key.
    const candidates = known.filter(
      ({ keyId }) => keyId === undefined || token.keyId === undefined || keyId === token.keyId,
    )
    const match = candidates.find(({ key }) => isJwtSignedBy(token, algorithm, key))
    if (match !== undefined) return { signer: match.keyId ?? 'jwk' }
    if (candidates.length > 0 || finder === undefined) return 'bad-signature'
    if (token.keyId === undefined || token.keyId.length > 256) return 'unknown-key'
    const key = await finder.find(token.keyId)
    if (typeof key === 'string') return key
    if (!isJwtSignedBy(token, algorithm, key)) return 'bad-signature'
    finder.prove(token.keyId)
    return { signer: token.keyId }
  }
}

interface KeyFinder {
  find(keyId: string): Promise<KeyObject | KeyTrouble>
  /** Says that a signature held under the key of this name. */
  prove(keyId: string): void
}

function keyFinder({ algorithm, jwks }: JwkSpec, { options }: BuildContext): KeyFinder | undefined {
  const kind = kindOf(algorithm)
  if (jwks !== undefined) {
    const fetcher = (options['fetch'] as TextFetcher | undefined) ?? fetchOverTls
    const set = new Jwks({ ...jwks, kind, fetcher })
    // A set is fetched as a whole, from one address: no name of a stranger takes the place of another.
    return { find: (keyId) => set.find(keyId), prove: () => undefined }
  }
  const fetchKey = options['fetchKey'] as JwkOptions['fetchKey']
  if (fetchKey === undefined) return undefined
  return new KeyCache<KeyObject>({
    fetchKey: async (keyId, signal) => findJwkKey(await fetchKey(keyId, signal), kind),
  })
}

type Jwk = object & { readonly kid?: unknown }

function requireJwks(
  { algorithm, jwks }: JwkSpec,
  { provider, options: { jwk, fetchKey } }: BuildContext,
): readonly { readonly keyId: string | undefined; readonly key: KeyObject }[] {
  const list = [(jwk ?? []) as Jwk | readonly Jwk[]].flat()
  if (list.length === 0 && jwks === undefined && typeof fetchKey !== 'function') {
    throw new OptionInvalidError(`${provider}.jwk`, 'JSON Web Keys, or fetchKey must be set', jwk)
  }
  return list.map((one) => {
    const key = findJwkKey(one, kindOf(algorithm))
    if (key === undefined) throw new OptionInvalidError(`${provider}.jwk`, 'a JSON Web Key', one)
    return { keyId: typeof one.kid === 'string' ? one.kid : undefined, key }
  })
}

function kindOf(algorithm: JwkSpec['algorithm']): 'ec' | 'rsa' {
  return algorithm === 'ES256' ? 'ec' : 'rsa'
}
