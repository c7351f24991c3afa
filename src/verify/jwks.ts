/**
 * A sender's public keys, fetched as a set (JWKS, RFC 7517) from one address that is ours to say.
 *
 * What a token says of where its key is (`jku`, `x5u`, `jwk`) is never read: it only names a key of the
 * set. A name that is not in the set makes us ask again, because senders change their keys; strangers
 * make up names as they like, so however many they are, the set is asked for once in a while.
 *
 * @module
 */

import type { KeyObject } from 'node:crypto'
import { fetchText, isPinnedUrl } from './fetch-text.ts'
import type { TextFetcher } from './fetch-text.ts'
import type { KeyTrouble } from './key-cache.ts'
import { findJwkKey } from './public-key.ts'

/** Where a sender publishes its keys. */
export interface JwksPlace {
  readonly url: string
  /** The host it must be on. Matched from end to end. */
  readonly host: RegExp
}

export interface JwksOptions extends JwksPlace {
  readonly kind: 'ec' | 'rsa'
  readonly fetcher: TextFetcher
  /** How long a set is believed without asking again. A key that the sender withdrew counts until then. */
  readonly keptMs?: number
  /** How long an old set is still believed while no new one can be had. */
  readonly staleKeptMs?: number
  /** How long after an answer an unknown name is no reason to ask again. */
  readonly refetchMs?: number
  /** The same after a failure. */
  readonly failedMs?: number
  readonly timeoutMs?: number
  readonly now?: () => number
}

/** More keys than any sender has; a set of ten thousand would only keep us busy. */
const KEYS_MAX = 64

interface KeySet {
  readonly keys: ReadonlyMap<string, KeyObject>
  readonly fetchedMs: number
}

export class Jwks {
  readonly #options: Required<JwksOptions>
  #set: KeySet | undefined
  #isFailed = false
  #nextTryMs = Number.NEGATIVE_INFINITY
  #fetching: Promise<void> | undefined

  /** @throws TypeError for an address that is not on the host: a mistake in a declaration */
  constructor(options: JwksOptions) {
    if (!isPinnedUrl(options.url, options.host)) {
      throw new TypeError('The address of a key set must be on its host, over https')
    }
    this.#options = {
      keptMs: 3_600_000,
      staleKeptMs: 86_400_000,
      refetchMs: 60_000,
      failedMs: 5_000,
      timeoutMs: 5_000,
      now: () => performance.now(),
      ...options,
    }
  }

  /** The key of a name; whether there is none, or it cannot be had now. Never rejects. */
  async find(keyId: string): Promise<KeyObject | KeyTrouble> {
    const known = this.#set?.keys.get(keyId)
    if (known !== undefined && this.#ageMs() < this.#options.keptMs) return known
    await this.#refresh()
    const key = this.#ageMs() < this.#options.staleKeptMs ? this.#set?.keys.get(keyId) : undefined
    return key ?? (this.#isFailed ? 'key-unavailable' : 'unknown-key')
  }

  #ageMs(): number {
    return this.#set === undefined
      ? Number.POSITIVE_INFINITY
      : this.#options.now() - this.#set.fetchedMs
  }

  /** One fetch for all callers that wait, and none too soon after the last. */
  async #refresh(): Promise<void> {
    if (this.#fetching === undefined && this.#options.now() < this.#nextTryMs) return
    this.#fetching ??= this.#fetch().finally(() => (this.#fetching = undefined))
    await this.#fetching
  }

  async #fetch(): Promise<void> {
    const { url, kind, fetcher, timeoutMs, refetchMs, failedMs, now } = this.#options
    try {
      const text = await fetchText(fetcher, url, AbortSignal.timeout(timeoutMs))
      this.#set = { keys: readKeys(text, kind), fetchedMs: now() }
      this.#isFailed = false
    } catch {
      // An old set is better than refusing good deliveries; for how long is asked where it is used.
      this.#isFailed = true
    }
    this.#nextTryMs = now() + (this.#isFailed ? failedMs : refetchMs)
  }
}

/** @throws Error for a text without any key that can be used: that is no answer, and the old set stays */
function readKeys(text: string, kind: 'ec' | 'rsa'): ReadonlyMap<string, KeyObject> {
  const { keys } = JSON.parse(text) as { readonly keys?: unknown }
  const read = new Map<string, KeyObject>()
  for (const jwk of Array.isArray(keys) ? keys.slice(0, KEYS_MAX) : []) {
    const { kid, use } = (jwk ?? {}) as { readonly kid?: unknown; readonly use?: unknown }
    if (typeof kid !== 'string' || read.has(kid) || (use !== undefined && use !== 'sig')) continue
    const key = findJwkKey(jwk, kind)
    if (key !== undefined) read.set(kid, key)
  }
  if (read.size === 0) throw new Error('The host answered without a key')
  return read
}
