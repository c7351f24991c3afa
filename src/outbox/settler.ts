/**
 * Writes what became of messages, in batches.
 *
 * A batch that fails is written again as it is. That is safe after a COMMIT whose outcome is unknown: if it
 * was committed, the leases are gone and the second write finds nothing to change. While the database is away
 * it goes on past the end of the leases: no other relay can take the messages either, and given up they would
 * be in doubt although it is known here what became of them. Otherwise, and when the relay is stopped, it
 * ends with the leases.
 *
 * @module
 */

import { setTimeout as sleep } from 'node:timers/promises'
import { asError, HookonceError } from '../errors.ts'
import { Combiner } from '../flow/combiner.ts'
import type { MessageSettlement, MessageStore } from '../store/contract/messages.ts'

export interface Settling {
  readonly settlement: MessageSettlement
  /** By `performance.now()`. */
  readonly leaseEndsAt: number
}

/** `lost`: another relay has the lease. `unknown`: it may be written or not. */
export type Settled = 'counted' | 'lost' | 'unknown'

const BATCH_MAX = 500
const PAUSE_MIN_MS = 20
const PAUSE_MAX_MS = 1_000

export class Settler {
  readonly #store: Pick<MessageStore<unknown>, 'settle'>
  readonly #onError: (error: Error) => void
  readonly #writes = new Combiner<Settling, Settled>((batch) => this.#write(batch), {
    batchMax: BATCH_MAX,
  })
  #isFailing = false
  #isStopping = false
  #isAbandoned = false

  constructor(store: Pick<MessageStore<unknown>, 'settle'>, onError: (error: Error) => void) {
    this.#store = store
    this.#onError = onError
  }

  /** Whether the last write failed. A claim made now might take messages that this relay still holds. */
  get isFailing(): boolean {
    return this.#isFailing
  }

  /** From now on nothing is tried for longer than its lease. */
  stop(): void {
    this.#isStopping = true
  }

  /** The store is about to be closed: what is not written by now is not tried again. */
  abandon(): void {
    this.#isAbandoned = true
  }

  /** Never rejects: what cannot be written is told as that. */
  add(settling: Settling): Promise<Settled> {
    return this.#writes.add(settling)
  }

  /** Until all that was added is written, or given up. */
  drain(): Promise<void> {
    return this.#writes.idle()
  }

  async #write(batch: readonly Settling[]): Promise<readonly Settled[]> {
    let left = batch
    for (let failures = 0; left.length > 0; failures += 1) {
      try {
        const counted = await this.#store.settle(left.map(({ settlement }) => settlement))
        this.#isFailing = false
        const written = new Set(left)
        // After a failure one that was not counted may have been counted before, unheard.
        const uncounted = failures > 0 ? 'unknown' : 'lost'
        return batch.map((each) =>
          !written.has(each)
            ? 'unknown'
            : counted.has(each.settlement.token)
              ? 'counted'
              : uncounted,
        )
      } catch (error) {
        this.#isFailing = isAway(error)
        this.#onError(asError(error))
        const pauseMs = Math.min(PAUSE_MAX_MS, PAUSE_MIN_MS * 2 ** Math.min(failures, 10))
        const until = this.#isAbandoned ? Infinity : performance.now() + pauseMs
        if (!this.#isFailing || this.#isStopping)
          left = left.filter(({ leaseEndsAt }) => leaseEndsAt > until)
        if (left.length > 0) await sleep(pauseMs)
      }
    }
    this.#isFailing = false
    return batch.map(() => 'unknown')
  }
}

/** Whether the database is at fault, and not what was to be written. */
function isAway(error: unknown): boolean {
  return error instanceof HookonceError && error.retryable
}
