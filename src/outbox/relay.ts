/**
 * The relay: takes due messages and sends them until it is stopped.
 *
 *     claim, some for each destination that has room ─▶ its queue ─▶ settle, in batches
 *
 * Many relays may run at once, in one process or in many: a message is one relay's for as long as its
 * lease, and what a relay writes after that is refused by the store. Concurrency, rate and breaker are
 * each relay's own.
 *
 * @module
 */

import { randomUUID } from 'node:crypto'
import { setMaxListeners } from 'node:events'
import { asError } from '../errors.ts'
import type { ClaimedMessage, MessageSettlement, MessageStore } from '../store/contract/messages.ts'
import type { HappeningEmitter } from '../telemetry/emitter.ts'
import { atMost, GOODBYE_MS, INTERRUPTED_MS } from '../flow/at-most.ts'
import { WakeUp } from '../flow/wake-up.ts'
import type { Destination } from './destination.ts'
import { DestinationQueue } from './destination-queue.ts'
import type { QueueEnding } from './destination-queue.ts'
import type { ResolvedRelayOptions } from './options.ts'
import { reportEnding } from './report-ending.ts'
import { Settler } from './settler.ts'

export interface RelayContext {
  readonly store: MessageStore<unknown>
  readonly destinations: readonly Destination[]
  readonly options: ResolvedRelayOptions
  readonly happenings: HappeningEmitter
  /**
   * Whether the database was seen a moment ago not to have gone back. Else messages wait that may have been sent
   * before it did.
   */
  readonly isHistoryKnown: () => boolean
  /** Called for each message of which this relay has written what became of it. */
  readonly onSettled?: ((state: MessageSettlement['state']) => void) | undefined
}

/** What is due and could not be claimed a moment ago is held by another relay. */
const LOOK_AGAIN_MS = 20
const PAUSE_MAX_MS = 2_000

export class Relay {
  /** Random per start, so that logs tell relays apart. */
  readonly id = randomUUID()
  readonly #context: RelayContext
  readonly #queues: ReadonlyMap<string, DestinationQueue>
  readonly #settler: Settler
  readonly #wakeUp = new WakeUp()
  readonly #interruption = new AbortController()
  #running: Promise<void> | undefined
  /** Whether `untilIdle` was called after the last claim began, which may therefore have missed something. */
  #mustClaim = false
  #onIdle: (() => void) | undefined
  #isStopping = false

  constructor(context: RelayContext) {
    this.#context = context
    // Every attempt listens; the default would take more than ten for a leak.
    setMaxListeners(0, this.#interruption.signal)
    this.#settler = new Settler(context.store, (error) => this.#report('settle messages', error))
    this.#queues = new Map(
      context.destinations.map((destination) => [destination.name, this.#createQueue(destination)]),
    )
  }

  start(): void {
    this.#running = this.#run()
    this.#context.happenings.emit('relay.started', {
      relayId: this.id,
      destinations: [...this.#queues.keys()],
    })
  }

  /** There may be something to send. */
  wake(): void {
    this.#wakeUp.call()
  }

  /** Resolves when nothing is due that it could send, and the ends of what it sent are written. */
  async untilIdle(): Promise<void> {
    const idle = new Promise<void>((resolve) => (this.#onIdle = resolve))
    this.#mustClaim = true
    this.wake()
    await idle
  }

  /** Claims nothing more, gives back what has not begun, waits for the rest, and after the grace period gives it up. */
  async stop(): Promise<void> {
    this.#isStopping = true
    this.#settler.stop()
    this.#wakeUp.close()
    // A claim that the database does not answer leaves its messages to the end of their leases.
    await atMost(GOODBYE_MS, this.#running ?? Promise.resolve())
    const grace = setTimeout(() => {
      this.#interruption.abort(new Error('The relay was stopped'))
      this.#close()
    }, this.#context.options.stopGraceMs)
    await Promise.all([...this.#queues.values()].map((queue) => queue.stop()))
    clearTimeout(grace)
    await atMost(INTERRUPTED_MS, this.#settler.drain())
    this.#settler.abandon()
    this.#close()
    this.#context.happenings.emit('relay.stopped', { relayId: this.id })
  }

  #close(): void {
    for (const destination of this.#context.destinations) destination.close?.()
  }

  async #run(): Promise<void> {
    let troubles = 0
    while (!this.#isStopping) {
      try {
        const hasMore = await this.#claim()
        troubles = 0
        if (!hasMore) await this.#rest()
      } catch (error) {
        troubles += 1
        this.#report('claim messages', error)
        const pauseMs = Math.min(PAUSE_MAX_MS, 25 * 2 ** Math.min(troubles, 10))
        await this.#wakeUp.wait(async () => pauseMs)
      }
    }
  }

  async #rest(): Promise<void> {
    const isEmpty = [...this.#queues.values()].every((queue) => queue.isEmpty)
    if (isEmpty && !this.#mustClaim) this.#onIdle?.()
    await this.#wakeUp.wait(async () => this.#idleMs())
  }

  /** Says whether it is worth asking again at once. */
  async #claim(): Promise<boolean> {
    if (this.#settler.isFailing || !this.#context.isHistoryKnown()) return false
    this.#mustClaim = false
    const { store, options } = this.#context
    const claimedAt = performance.now()
    const wanted = [...this.#queues.values()]
      .map((queue) => ({ destination: queue.name, limit: queue.room(claimedAt) }))
      .filter(({ limit }) => limit > 0)
    if (wanted.length === 0) return false
    const { leaseMs } = options
    const messages = await store.claim({ wanted, leaseMs })
    // The lease began no earlier than it was asked for.
    for (const message of messages) this.#hand(message, claimedAt, claimedAt + leaseMs)
    return messages.length > 0
  }

  #hand(message: ClaimedMessage, claimedAt: number, leaseEndsAt: number): void {
    this.#queues.get(message.destination)?.take(message, claimedAt, leaseEndsAt)
  }

  async #idleMs(): Promise<number> {
    if (this.#settler.isFailing || !this.#context.isHistoryKnown())
      return this.#context.options.pollMs
    const now = performance.now()
    const queues = [...this.#queues.values()]
    const withRoom = queues.filter((queue) => queue.room(now) > 0).map(({ name }) => name)
    const waits = queues.map((queue) => queue.waitMs(now) ?? Infinity)
    const { store, options } = this.#context
    const { pollMs } = options
    const due = withRoom.length === 0 ? undefined : await store.nextDueInMs(withRoom, pollMs)
    return Math.min(Math.max(due ?? Infinity, LOOK_AGAIN_MS), pollMs, ...waits)
  }

  #createQueue(destination: Destination): DestinationQueue {
    const { happenings } = this.#context
    const { name } = destination
    return new DestinationQueue({
      destination,
      signal: this.#interruption.signal,
      settle: (ending) => void this.#settle(ending),
      onResend: ({ id, key, attempt, eventId }) =>
        happenings.emit('message.resent', {
          messageId: id,
          destination: name,
          key,
          attempt,
          eventId,
        }),
      onHeld: (forMs, cause) =>
        happenings.emit('destination.held', { destination: name, forMs, cause }),
      onGone: (reason) => this.#pause(name, reason),
      onRoom: () => this.#wakeUp.call(),
    })
  }

  async #settle({ message, settlement, end, leaseEndsAt, onWritten }: QueueEnding): Promise<void> {
    const settled = await this.#settler.add({ settlement, leaseEndsAt })
    onWritten()
    if (settled === 'counted') this.#context.onSettled?.(settlement.state)
    reportEnding(this.#context.happenings, { message, settlement, end }, settled)
  }

  async #pause(name: string, reason: string): Promise<void> {
    try {
      if (await this.#context.store.pauseDestination(name, reason))
        this.#context.happenings.emit('destination.paused', { destination: name, reason })
    } catch (error) {
      // The message goes back, and the destination will say the same to the next one.
      this.#report('pause a destination', error)
    }
  }

  #report(doing: string, error: unknown): void {
    this.#context.happenings.emit('relay.error', {
      relayId: this.id,
      doing,
      error: asError(error),
    })
  }
}
