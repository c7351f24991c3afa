/**
 * For `acknowledge: 'processed'`: waits until the outcome of an event is known, and answers with it.
 *
 * The event is durable before this begins, and nothing is held open while it waits: a worker of this
 * process tells at once, one of another process is found out by looking, less and less often.
 *
 * @module
 */

import type { Acknowledgement } from '../model/acknowledgement.ts'
import type { EventId, Recorded } from '../model/event.ts'
import type { SuccessAnswer } from '../model/source.ts'
import type { OutcomeView } from '../store/contract/events.ts'
import type { Store } from '../store/contract/store.ts'
import { failed, processed, stored, unavailable } from './acknowledge.ts'

type OutcomeStore = Pick<Store<unknown>, 'events'>

export interface OutcomeWaiterParts {
  readonly store: OutcomeStore
  readonly deadlineMs: number
  /** There is something to run. */
  readonly onDue: () => void
}

export class OutcomeWaiter {
  readonly #store: OutcomeStore
  readonly #deadlineMs: number
  readonly #onDue: () => void
  readonly #waiters = new Map<EventId, Set<() => void>>()

  constructor({ store, deadlineMs, onDue }: OutcomeWaiterParts) {
    this.#store = store
    this.#deadlineMs = deadlineMs
    this.#onDue = onDue
  }

  async answer(success: SuccessAnswer, recorded: Recorded): Promise<Acknowledgement> {
    const outcome = recorded.status === 'accepted' ? 'accepted' : 'duplicate'
    const { eventId } = recorded
    const deadline = performance.now() + this.#deadlineMs
    const failuresBefore = await this.#begin(recorded)

    for (let pauseMs = 20; ; pauseMs = Math.min(pauseMs * 2, 500)) {
      const woken = this.#nextWake(
        eventId,
        Math.min(pauseMs, Math.max(0, deadline - performance.now())),
      )
      const view = await this.#store.events.findOutcome(eventId)
      const answer =
        view === undefined
          ? failed(eventId)
          : decide(success, { view, eventId, outcome, failuresBefore })
      if (answer !== undefined) return (woken.cancel(), answer)
      if (performance.now() >= deadline) return (woken.cancel(), unavailable())
      await woken.promise
    }
  }

  /** A sender that delivers again an event which waits for its next attempt wants it tried now. */
  async #begin({ status, eventId }: Recorded): Promise<number> {
    if (status !== 'duplicate') return 0
    const view = await this.#store.events.findOutcome(eventId)
    const failures = view?.attempts ?? 0
    if (view !== undefined && view.outcome === undefined && failures > 0) {
      await this.#store.events.nudge(eventId)
      this.#onDue()
    }
    return failures
  }

  /** A worker of this process has settled the event, or parked it. */
  settled(eventId: EventId): void {
    for (const wake of this.#waiters.get(eventId) ?? []) wake()
  }

  /** Armed before the look, so that an outcome between look and wait is not slept through. */
  #nextWake(eventId: EventId, pauseMs: number): { promise: Promise<void>; cancel: () => void } {
    let end: () => void = () => undefined
    const promise = new Promise<void>((resolve) => {
      const timer = setTimeout(() => end(), pauseMs)
      end = () => {
        clearTimeout(timer)
        const waiters = this.#waiters.get(eventId)
        waiters?.delete(end)
        if (waiters?.size === 0) this.#waiters.delete(eventId)
        resolve()
      }
    })
    const waiters = this.#waiters.get(eventId) ?? new Set()
    this.#waiters.set(eventId, waiters.add(end))
    return { promise, cancel: end }
  }
}

interface Decision {
  readonly view: OutcomeView
  readonly eventId: EventId
  readonly outcome: 'accepted' | 'duplicate'
  readonly failuresBefore: number
}

/** The answer that follows from what is known, or `undefined` while the outcome is open. */
function decide(
  success: SuccessAnswer,
  { view, eventId, outcome, failuresBefore }: Decision,
): Acknowledgement | undefined {
  const settled = view.outcome
  if (settled?.state === 'dead') return failed(eventId)
  // An operator's order, and no outcome of a handler.
  if (settled?.state === 'discarded') return stored(success, { outcome, eventId })
  if (settled !== undefined) {
    return processed(success, { outcome, eventId, state: settled.state, result: settled.result })
  }
  // Parked: it is kept, and no outcome will come by itself.
  if (view.parked !== undefined) return stored(success, { outcome, eventId })
  return view.attempts > failuresBefore ? failed(eventId) : undefined
}
