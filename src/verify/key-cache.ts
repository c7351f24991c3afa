/**
 * Keys that have to be fetched, by the name a request gives them.
 *
 * The name in a request only chooses among what one configured place has: a request never says where
 * to look. Strangers choose names as they like, so a name that was not found is remembered too, what
 * is kept is bounded, and no more than a few fetches run at once.
 *
 * @module
 */

export interface KeyCacheOptions<Key> {
  /** Gets one key by its name, `undefined` when there is none. May reject: then it is asked again. */
  readonly fetchKey: (name: string, signal: AbortSignal) => Promise<Key | undefined>
  /** How long a key is believed without asking again. */
  readonly keptMs?: number
  /** How long a name without a key is not asked for again. */
  readonly missKeptMs?: number
  readonly timeoutMs?: number
  readonly now?: () => number
}

export type KeyTrouble = 'unknown-key' | 'key-unavailable'

const NAMES_MAX = 256
const FETCHES_MAX = 4

export class KeyCache<Key extends object> {
  readonly #options: Required<KeyCacheOptions<Key>>
  readonly #kept = new Map<string, { readonly key: Key | KeyTrouble; readonly untilMs: number }>()
  readonly #fetching = new Map<string, Promise<Key | KeyTrouble>>()

  constructor(options: KeyCacheOptions<Key>) {
    this.#options = {
      keptMs: 3_600_000,
      missKeptMs: 60_000,
      timeoutMs: 5_000,
      now: () => performance.now(),
      ...options,
    }
  }

  /** The key of a name; whether there is none, or it cannot be had now. Never rejects. */
  async find(name: string): Promise<Key | KeyTrouble> {
    const kept = this.#kept.get(name)
    if (kept !== undefined && kept.untilMs > this.#options.now()) return kept.key
    const running = this.#fetching.get(name)
    if (running !== undefined) return running
    if (this.#fetching.size >= FETCHES_MAX) return 'key-unavailable'
    const fetching = this.#fetch(name)
    this.#fetching.set(name, fetching)
    try {
      return await fetching
    } finally {
      this.#fetching.delete(name)
    }
  }

  async #fetch(name: string): Promise<Key | KeyTrouble> {
    const { fetchKey, keptMs, missKeptMs, timeoutMs, now } = this.#options
    try {
      const found = await fetchKey(name, AbortSignal.timeout(timeoutMs))
      const key = found ?? 'unknown-key'
      this.#keep(name, key, now() + (found === undefined ? missKeptMs : keptMs))
      return key
    } catch {
      // The place is down: a known key that is merely old is better than refusing good deliveries.
      return this.#kept.get(name)?.key ?? 'key-unavailable'
    }
  }

  #keep(name: string, key: Key | KeyTrouble, untilMs: number): void {
    this.#kept.delete(name)
    this.#kept.set(name, { key, untilMs })
    const oldest = this.#kept.keys().next()
    if (this.#kept.size > NAMES_MAX && oldest.done !== true) this.#kept.delete(oldest.value)
  }
}
