/**
 * Runs bulks in the background of this process, each at its rate.
 *
 * The store decides what is done, one event in one transaction, so that this may stop anywhere: at an end of the
 * process, at a lost connection, in the middle. Running it again goes on with what is left.
 *
 * @module
 */

import { setTimeout as wait } from 'node:timers/promises'
import type { BulkId } from '../model/bulk.ts'
import type { Store } from '../store/contract/store.ts'

/** Why a process does nothing more for a bulk. */
export interface BulkEnd {
  /**
   * - `finished`: nothing is left to be done by this process. Another one may have some of it in hand.
   * - `aborted`: an operator wanted it so.
   * - `stopped`: this process stops. What is left is done when the bulk is run again.
   * - `failed`: the store could not be used ten times in a row; see `error`. Run it again when it can.
   */
  readonly status: 'finished' | 'aborted' | 'stopped' | 'failed'
  readonly error?: unknown
}

const ERRORS_MAX = 10
const PAUSE_AFTER_ERROR_MS = 1_000
/** Workers are told that there is something to run, no more often than this. */
const NOTIFY_MS = 1_000

export class BulkRunner {
  readonly #stopping = new AbortController()
  readonly #running = new Map<BulkId, Promise<BulkEnd>>()

  /** A bulk that runs already goes on at the rate it has. */
  run(store: Store<unknown>, id: BulkId, ratePerSecond: number): Promise<BulkEnd> {
    const known = this.#running.get(id)
    if (known !== undefined) return known
    const ended = runBulk(store, id, { ratePerSecond, stopping: this.#stopping.signal })
      .catch((error: unknown): BulkEnd => ({ status: 'failed', error }))
      .finally(() => this.#running.delete(id))
    this.#running.set(id, ended)
    return ended
  }

  /** For good. What is being done is waited for. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    await Promise.all(this.#running.values())
  }
}

async function runBulk(
  store: Store<unknown>,
  id: BulkId,
  { ratePerSecond, stopping }: { readonly ratePerSecond: number; readonly stopping: AbortSignal },
): Promise<BulkEnd> {
  const pace = new Pace(ratePerSecond)
  const notice = new Notice(store)
  let errors = 0
  while (!stopping.aborted) {
    try {
      const { status } = await store.bulks.actOnNext(id)
      errors = 0
      if (status === 'none') return await endOf(store, id, notice)
      notice.give()
    } catch (error) {
      errors += 1
      if (errors === ERRORS_MAX) return { status: 'failed', error }
      await sleep(PAUSE_AFTER_ERROR_MS, stopping)
    }
    await sleep(pace.nextInMs(), stopping)
  }
  return { status: 'stopped' }
}

async function endOf(store: Store<unknown>, id: BulkId, notice: Notice): Promise<BulkEnd> {
  notice.give('now')
  const bulk = await store.bulks.find(id)
  return { status: bulk?.state === 'aborted' ? 'aborted' : 'finished' }
}

/** An even pace. Time that was lost is not made up for: a burst is what a rate is there to prevent. */
class Pace {
  readonly #everyMs: number
  #nextAt = performance.now()

  constructor(ratePerSecond: number) {
    this.#everyMs = 1_000 / ratePerSecond
  }

  nextInMs(): number {
    const now = performance.now()
    this.#nextAt = Math.max(this.#nextAt + this.#everyMs, now)
    return this.#nextAt - now
  }
}

/** Wakes workers. Should it not reach them, they find what is due by their next poll. */
class Notice {
  readonly #store: Store<unknown>
  #givenAt = -Infinity

  constructor(store: Store<unknown>) {
    this.#store = store
  }

  give(when: 'now' | 'seldom' = 'seldom'): void {
    const now = performance.now()
    if (when === 'seldom' && now - this.#givenAt < NOTIFY_MS) return
    this.#givenAt = now
    void this.#store.queue.notify().catch(() => undefined)
  }
}

async function sleep(ms: number, stopping: AbortSignal): Promise<void> {
  if (ms <= 0 || stopping.aborted) return
  await wait(ms, undefined, { signal: stopping }).catch(() => undefined)
}
