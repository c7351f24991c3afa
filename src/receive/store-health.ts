import type { HappeningEmitter } from '../telemetry/emitter.ts'

/** What a store must be able to do for a delivery to be taken. */
type Ability = 'read' | 'write'

/**
 * Whether deliveries can be stored, as far as this process knows, and tells once when that changes.
 *
 * A write that failed may have been one lost connection. It puts the store in doubt, and in doubt nothing is
 * taken for certain; that the store is away is told when a second write has failed.
 */
export class StoreHealth {
  readonly #happenings: HappeningEmitter
  readonly #failing = new Set<Ability>()
  #doubt: Error | undefined
  /** Since when it is told to be away. */
  #downSince: number | undefined

  constructor(happenings: HappeningEmitter) {
    this.#happenings = happenings
  }

  get isUp(): boolean {
    return this.#failing.size === 0 && this.#doubt === undefined
  }

  /** A write failed, and another one will show whether the store is to blame. */
  doubt(error: Error): void {
    this.#doubt ??= error
  }

  fails(ability: Ability, error: Error): void {
    this.#failing.add(ability)
    if (this.#downSince !== undefined) return
    this.#downSince = performance.now()
    // What was told to the senders comes first.
    this.#happenings.emit('store.unavailable', { error: this.#doubt ?? error })
  }

  works(ability: Ability): void {
    this.trust(ability)
    if (this.#failing.size > 0 || this.#downSince === undefined) return
    const downMs = Math.round(performance.now() - this.#downSince)
    this.#downSince = undefined
    this.#happenings.emit('store.available', { downMs })
  }

  /** It may work again, which is not told before it is seen. */
  trust(ability: Ability): void {
    if (ability === 'write') this.#doubt = undefined
    this.#failing.delete(ability)
  }
}
