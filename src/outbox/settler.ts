/**
 * Writes what became of messages, in batches: whatever ends while a batch is on its way to the database
 * is the next one.
 *
 * A batch that fails is written again as it is. That is safe after a COMMIT whose outcome is not known:
 * if it was committed, the leases are gone and the second write finds nothing to change. While the database
 * is away it goes on past the end of the leases: no other relay could take the messages either, and given up
 * they would be in doubt although it is known here what became of them. Otherwise, and when the relay is
 * stopped, it ends with the leases.
 *
 * @module
 */

import { setTimeout as sleep } from 'node:timers/promises'
import { asError, HookonceError } from '../errors.ts'
import type { MessageSettlement, OutboxStore } from '../store/contract/messages.ts'

export interface Settling {
  readonly settlement: MessageSettlement
  /** By `performance.now()`. */
  readonly leaseEndsAt: number
  /** Called once. `counted` is false when the lease was lost, and `undefined` when that is not known. */
  readonly onSettled: (counted: boolean | undefined) => void
}

const BATCH_MAX = 500
const PAUSE_MIN_MS = 20
const PAUSE_MAX_MS = 1_000

export class Settler {
  readonly #store: Pick<OutboxStore<unknown>, 'settleMessages'>
  readonly #onError: (error: Error) => void
  #waiting: Settling[] = []
  #writing: Promise<void> | undefined
  #isFailing = false
  #isStopping = false
  #isAbandoned = false

  constructor(
    store: Pick<OutboxStore<unknown>, 'settleMessages'>,
    onError: (error: Error) => void,
  ) {
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

  add(settling: Settling): void {
    this.#waiting.push(settling)
    this.#writing ??= this.#write().finally(() => {
      this.#writing = undefined
    })
  }

  /** Until all that was added is written, or given up. */
  async drain(): Promise<void> {
    while (this.#writing !== undefined) await this.#writing
  }

  async #write(): Promise<void> {
    // What ends in the same round of the event loop goes along.
    await new Promise((resolve) => setImmediate(resolve))
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, BATCH_MAX)
      await this.#writeBatch(batch)
    }
  }

  async #writeBatch(batch: readonly Settling[]): Promise<void> {
    let left = batch
    for (let failures = 0; left.length > 0; failures += 1) {
      try {
        const counted = await this.#store.settleMessages(left.map(({ settlement }) => settlement))
        this.#isFailing = false
        return report(left, counted, failures > 0)
      } catch (error) {
        this.#isFailing = isAway(error)
        this.#onError(asError(error))
        const pauseMs = Math.min(PAUSE_MAX_MS, PAUSE_MIN_MS * 2 ** Math.min(failures, 10))
        const until = this.#isAbandoned ? Infinity : performance.now() + pauseMs
        if (!this.#isFailing || this.#isStopping) left = giveUp(left, until)
        if (left.length > 0) await sleep(pauseMs)
      }
    }
    this.#isFailing = false
  }
}

/** What is left of a batch when the leases that have ended by then are given up. */
function giveUp(batch: readonly Settling[], now: number): readonly Settling[] {
  for (const { onSettled } of batch.filter(({ leaseEndsAt }) => leaseEndsAt <= now))
    onSettled(undefined)
  return batch.filter(({ leaseEndsAt }) => leaseEndsAt > now)
}

/** Whether the database is at fault, and not what was to be written. */
function isAway(error: unknown): boolean {
  return error instanceof HookonceError && error.retryable
}

/** After a failure one that was not counted may have been counted before, unheard. */
function report(
  batch: readonly Settling[],
  counted: ReadonlySet<string>,
  hasFailed: boolean,
): void {
  for (const { settlement, onSettled } of batch) {
    if (counted.has(settlement.token)) onSettled(true)
    else onSettled(hasFailed ? undefined : false)
  }
}
