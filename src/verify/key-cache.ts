/**
 * Keys that have to be fetched, by the name a request gives them.
 *
 * The name in a request only chooses among what one configured place has: a request never says where
 * to look. Strangers choose names as they like, so a name is worth nothing until a signature has held
 * under its key:
 *
 *     proven     a signature held under the key. Kept apart, so that no stranger's name takes its place,
 *                and fetched again whatever else is being fetched.
 *     unproven   a key, that there is none, or that it could not be had. Bounded; the oldest goes first.
 *                For all of them together few fetches run at once, and few in a minute.
 *
 * What cannot be fetched now is answered from an old proven key where there is one.
 *
 * @module
 */

export interface KeyCacheOptions<Key> {
  /** Gets one key by its name, `undefined` when there is none. May reject: then it is asked again. */
  readonly fetchKey: (name: string, signal: AbortSignal) => Promise<Key | undefined>
  /** How long a key is believed without asking again. */
  readonly keptMs?: number
  /** How long after that it is still believed while no new one can be had. */
  readonly staleKeptMs?: number
  /** How long a name without a key is not asked for again. */
  readonly missKeptMs?: number
  /** The same for a name that could not be asked for. */
  readonly failedMs?: number
  readonly timeoutMs?: number
  readonly now?: () => number
}

export type KeyTrouble = 'unknown-key' | 'key-unavailable'

interface Kept<Key> {
  readonly key: Key | KeyTrouble
  /** From when on it is asked for again. */
  readonly askAgainMs: number
  /** Until when the key may be used while asking again fails. */
  readonly endMs: number
}

/** More than any sender signs with. */
const PROVEN_MAX = 64
const UNPROVEN_MAX = 256
/** For names that nothing has proven. A sender has one or two, and changes them in weeks. */
const FETCHES_MAX = 4
const FETCHES_PER_MINUTE = 30
const MINUTE_MS = 60_000

export class KeyCache<Key extends object> {
  readonly #options: Required<KeyCacheOptions<Key>>
  readonly #proven = new Map<string, Kept<Key>>()
  readonly #unproven = new Map<string, Kept<Key>>()
  readonly #fetching = new Map<string, Promise<Key | KeyTrouble>>()
  #unprovenFetching = 0
  #minute = { startMs: Number.NEGATIVE_INFINITY, fetches: 0 }

  constructor(options: KeyCacheOptions<Key>) {
    this.#options = {
      keptMs: 3_600_000,
      staleKeptMs: 86_400_000,
      missKeptMs: 60_000,
      failedMs: 5_000,
      timeoutMs: 5_000,
      now: () => performance.now(),
      ...options,
    }
  }

  /** The key of a name; whether there is none, or it cannot be had now. Never rejects. */
  async find(name: string): Promise<Key | KeyTrouble> {
    const kept = this.#proven.get(name) ?? this.#unproven.get(name)
    if (kept !== undefined && this.#options.now() < kept.askAgainMs) return kept.key
    const running = this.#fetching.get(name)
    if (running !== undefined) return running
    if (this.#proven.has(name)) return this.#begin(name)
    if (!this.#mayFetch()) return 'key-unavailable'
    this.#unprovenFetching += 1
    return this.#begin(name).finally(() => (this.#unprovenFetching -= 1))
  }

  /** Says that a signature held under the key of this name. */
  prove(name: string): void {
    const kept = this.#unproven.get(name) ?? this.#proven.get(name)
    if (kept === undefined) return
    this.#unproven.delete(name)
    put(this.#proven, name, kept, PROVEN_MAX)
  }

  /** For a name that nothing has proven. */
  #mayFetch(): boolean {
    const now = this.#options.now()
    if (now - this.#minute.startMs >= MINUTE_MS) this.#minute = { startMs: now, fetches: 0 }
    if (this.#unprovenFetching >= FETCHES_MAX || this.#minute.fetches >= FETCHES_PER_MINUTE) {
      return false
    }
    this.#minute.fetches += 1
    return true
  }

  #begin(name: string): Promise<Key | KeyTrouble> {
    const fetching = this.#fetch(name).finally(() => this.#fetching.delete(name))
    this.#fetching.set(name, fetching)
    return fetching
  }

  async #fetch(name: string): Promise<Key | KeyTrouble> {
    const { keptMs, staleKeptMs, missKeptMs, failedMs, now } = this.#options
    try {
      const key = await this.#ask(name)
      if (key !== undefined) {
        return this.#keep(name, key, { forMs: keptMs, endMs: now() + keptMs + staleKeptMs })
      }
      // The sender has it no longer: whatever it proved before, it is a stranger's name now.
      this.#proven.delete(name)
      return this.#keep(name, 'unknown-key', { forMs: missKeptMs, endMs: 0 })
    } catch {
      // The place is down: a known key that is merely old is better than refusing good deliveries.
      const old = this.#proven.get(name) ?? this.#unproven.get(name)
      const isUsable = old !== undefined && now() < old.endMs
      const key = isUsable ? old.key : 'key-unavailable'
      return this.#keep(name, key, { forMs: failedMs, endMs: isUsable ? old.endMs : 0 })
    }
  }

  #keep(
    name: string,
    key: Key | KeyTrouble,
    { forMs, endMs }: { readonly forMs: number; readonly endMs: number },
  ): Key | KeyTrouble {
    const kept = { key, askAgainMs: this.#options.now() + forMs, endMs }
    if (this.#proven.has(name)) put(this.#proven, name, kept, PROVEN_MAX)
    else put(this.#unproven, name, kept, UNPROVEN_MAX)
    return key
  }

  /** Ends in time, also where what fetches the key pays no attention to its signal. */
  #ask(name: string): Promise<Key | undefined> {
    const { fetchKey, timeoutMs } = this.#options
    const controller = new AbortController()
    return new Promise<Key | undefined>((resolve, reject) => {
      const timer = setTimeout(() => {
        const late = new Error(`There was no key within ${timeoutMs} ms`)
        reject(late)
        controller.abort(late)
      }, timeoutMs)
      fetchKey(name, controller.signal)
        .then(resolve, reject)
        .finally(() => clearTimeout(timer))
    })
  }
}

/** As the newest; where there are too many then, without the oldest. */
function put<Value>(map: Map<string, Value>, name: string, value: Value, sizeMax: number): void {
  map.delete(name)
  map.set(name, value)
  const oldest = map.keys().next()
  if (map.size > sizeMax && oldest.done !== true) map.delete(oldest.value)
}
