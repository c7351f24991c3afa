/**
 * Runs leased events side by side, as many as there is room for, and settles them.
 *
 * @module
 */

import { asError } from '../../errors.ts'
import type { Store } from '../../store/contract/store.ts'
import type {
  CallEntry,
  CallWritten,
  LeasedEvent,
  LeasedSettlement,
} from '../../store/contract/steps.ts'
import type { Logger } from '../../telemetry/logger.ts'
import type { Topic } from '../../model/topic.ts'
import { Combiner } from '../../flow/combiner.ts'
import type { HandlerUnit } from '../handler-unit.ts'
import { retryWrite } from '../../flow/retry-write.ts'
import type { Interruption } from '../../flow/interruption.ts'
import type { HandlerOutbox } from '../outgoing.ts'
import type { Permits } from '../../flow/permits.ts'
import { reportSettlement } from '../report-settlement.ts'
import type { SettlementListener } from '../report-settlement.ts'
import { runSteps } from './run-steps.ts'
import type { RunStepsContext, StepsEnd } from './run-steps.ts'
import { StepTransactions } from './step-transactions.ts'
import type { TopicHealth } from '../topic-health.ts'

export interface StepRunnerContext<Tx> extends SettlementListener {
  readonly store: Store<Tx, unknown>
  readonly outbox: HandlerOutbox<Tx>
  readonly logger: Logger
  readonly interruption: Interruption
  readonly permits: Permits
  readonly findUnit: (event: LeasedEvent) => HandlerUnit | undefined
  readonly keepsResult: (source: string) => boolean
  readonly workerId: string
  readonly stepsMax: number
  readonly health: TopicHealth
  /** There is room for more. */
  readonly onRoom: () => void
  /** An event is settled: another one may be next in its lane. */
  readonly onLeft: (event: LeasedEvent) => void
}

/** One that may be leased. */
export interface StepTopic {
  readonly topic: Topic
  readonly source: string
  readonly unit: HandlerUnit
}

interface RunningTopic {
  /** How many of its events. */
  readonly running: number
  readonly source: string
  /** The name of its handlers. */
  readonly unit: string
}

/** How many of the places that are kept free one topic may have. */
const RESERVED_EACH = 2
/** How many writes under leases go in one statement. */
const BATCH_MAX = 200

export class StepRunner<Tx> {
  readonly #context: StepRunnerContext<Tx>
  readonly #runContext: RunStepsContext<Tx>
  readonly #settlements: Combiner<LeasedSettlement, boolean>
  readonly #running = new Map<number, Promise<void>>()
  /** How many of each topic run. */
  readonly #topics = new Map<Topic, RunningTopic>()

  constructor(context: StepRunnerContext<Tx>) {
    this.#context = context
    const { store, permits } = context
    const calls = new Combiner<CallEntry, CallWritten | undefined>(
      (entries) => permits.use(() => store.steps.writeCalls(entries)),
      { batchMax: BATCH_MAX },
    )
    this.#settlements = new Combiner(
      (settlements) => permits.use(() => store.steps.settle(settlements)),
      { batchMax: BATCH_MAX },
    )
    const transactions = new StepTransactions(store, permits)
    this.#runContext = {
      ...context,
      calls,
      runInTransaction: (waiting) => transactions.run(waiting),
    }
  }

  /**
   * How many more of a topic to lease now. None until a quarter of the room is free: leasing one at a time, as each
   * ends, would cost a commit for each. The last fifth is kept for topics that have none running and run well: a
   * call that hangs holds up no other. Of those with the same handlers few get into it before the first of them has
   * ended, since all of them may hang, and half of it is left to other sources. `promised` is what other slots are about
   * to lease.
   */
  roomFor({ topic, source, unit }: StepTopic, promised: number): number {
    const { stepsMax, health } = this.#context
    const free = stepsMax - this.#running.size - promised
    const reserved = Math.floor(stepsMax / 5)
    const room = free - reserved
    if (room >= Math.ceil((stepsMax - reserved) / 4)) return room
    if (this.#topics.has(topic) || health.isTroubled(topic, unit.name)) return 0
    const unknownMax = Math.max(1, Math.floor(reserved / RESERVED_EACH / 2))
    const isNew = !health.isKnown(topic)
    if (isNew && this.#countUnknown('unit', unit.name) > unknownMax) return 0
    const isAnother = isNew && this.#countUnknown('source', source) > 0
    const left = isAnother ? free - Math.floor(reserved / 2) : free
    return Math.max(0, Math.min(left, RESERVED_EACH))
  }

  /** How many topics of a source, or with the same handlers, run for the first time. */
  #countUnknown(by: 'source' | 'unit', name: string): number {
    const { health } = this.#context
    return [...this.#topics].filter(
      ([topic, running]) => running[by] === name && !health.isKnown(topic),
    ).length
  }

  /** The tokens of the leases that are being worked on. */
  get tokens(): readonly number[] {
    return [...this.#running.keys()]
  }

  start(leased: readonly LeasedEvent[]): void {
    for (const event of leased) {
      const { topic, source, lease } = event
      const { token } = lease
      const unit = this.#nameUnit(event)
      this.#topics.set(topic, { running: this.#countOf(topic) + 1, source, unit })
      const running = this.#run(event).finally(() => {
        this.#running.delete(token)
        const left = this.#countOf(topic) - 1
        if (left > 0) this.#topics.set(topic, { running: left, source, unit })
        else this.#topics.delete(topic)
        this.#context.onRoom()
      })
      this.#running.set(token, running)
    }
  }

  #countOf(topic: Topic): number {
    return this.#topics.get(topic)?.running ?? 0
  }

  #nameUnit(event: LeasedEvent): string {
    return this.#context.findUnit(event)?.name ?? ''
  }

  /** Waits for what runs. */
  async idle(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running.values())
  }

  async #run(leased: LeasedEvent): Promise<void> {
    const startedAt = performance.now()
    const end = await runSteps(this.#runContext, leased)
    // How long steps take says nothing: they wait for the world, and hold nothing meanwhile.
    const failed = end?.error !== undefined
    const durationMs = failed ? performance.now() - startedAt : 0
    this.#context.health.ran(leased.topic, { unit: this.#nameUnit(leased), durationMs, failed })
    if (end === undefined) return this.#reportLost(leased)
    try {
      if (await this.#settle({ lease: leased.lease, settlement: end.settlement })) {
        this.#report(leased, end)
        this.#context.onLeft(leased)
      } else this.#reportLost(leased)
    } catch (error) {
      // Its lease is no longer known here: if it is not settled, it is given back when the database is back.
      this.#context.happenings.emit('worker.error', {
        workerId: this.#context.workerId,
        doing: 'settle a leased event',
        error: asError(error),
      })
    }
  }

  /** @throws CommitUnknownError when the lease is gone, and maybe because it was settled unheard */
  async #settle(settlement: LeasedSettlement): Promise<boolean> {
    const { answer, unheard } = await retryWrite(() => this.#settlements.add(settlement))
    if (!answer && unheard !== undefined) throw unheard
    return answer
  }

  #report(leased: LeasedEvent, { settlement, error }: StepsEnd): void {
    const { happenings } = this.#context
    if (settlement.state === 'regrouped') return
    if (settlement.state === 'given-back') {
      const { eventId } = leased
      const cause = error?.message ?? 'the worker was stopped'
      return happenings.emit('lease.given-back', { eventId, cause })
    }
    reportSettlement(this.#context, { event: leased, settlement, error })
  }

  #reportLost(leased: LeasedEvent): void {
    const { eventId, source, key, type, attempt, lease } = leased
    this.#context.happenings.emit('lease.lost', {
      ...{ eventId, source, key, type, attempt },
      token: lease.token,
    })
  }
}
