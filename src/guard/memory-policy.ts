import { HookonceError } from '../errors.ts'
import type { HappeningEmitter } from '../telemetry/emitter.ts'
import type { Entries } from './entries.ts'

/** An operator may set another policy while the process runs. A look takes one round trip. */
const LOOK_MS = 60_000

export interface MemoryPolicyContext {
  readonly entries: Pick<Entries, 'readMemoryPolicy'>
  readonly allowUnsafe: boolean
  readonly happenings: HappeningEmitter
}

/**
 * Refuses a Redis that throws marks away when its memory is full. Every mark has an expiry, so each policy but
 * `noeviction` takes them. Seen without this look: 14,894 of 20,000 done events ran again.
 *
 * Looked at with the first event and then once a minute, on the node that holds that event's key. In a cluster what one
 * node says counts for all until the next look: which node a key is on, only the client knows.
 */
export class MemoryPolicy {
  readonly #context: MemoryPolicyContext
  #goodUntil = -Infinity
  #isRefused = false
  #isWarned = false

  constructor(context: MemoryPolicyContext) {
    this.#context = context
  }

  /** Whether the last look found a policy that is refused. */
  get isRefused(): boolean {
    return this.#isRefused
  }

  /**
   * @throws HookonceError with the code STORE_UNSAFE when marks may be evicted
   * @throws StoreUnavailableError when Redis does not answer
   */
  async require(redisKey: string): Promise<void> {
    if (performance.now() < this.#goodUntil) return
    const policy = await this.#context.entries.readMemoryPolicy(redisKey)
    this.#isRefused = isEvicting(policy) && !this.#context.allowUnsafe
    if (policy === undefined) {
      this.#warn('Redis does not tell its maxmemory-policy (INFO); it must be noeviction')
    } else if (isEvicting(policy)) {
      const danger = `Redis may evict the marks of done events (maxmemory-policy ${policy}), and those would run again.`
      if (this.#isRefused)
        throw new HookonceError(
          'STORE_UNSAFE',
          `${danger} Set maxmemory-policy noeviction, use another Redis, or say allowUnsafe: true.`,
        )
      this.#warn(danger)
    }
    this.#goodUntil = performance.now() + LOOK_MS
  }

  #warn(warning: string): void {
    if (this.#isWarned) return
    this.#isWarned = true
    this.#context.happenings.emit('store.warning', { warning })
  }
}

function isEvicting(policy: string | undefined): boolean {
  return policy !== undefined && policy !== 'noeviction'
}
