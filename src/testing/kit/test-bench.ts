/**
 * What a test has in its hand: it delivers, lets run, lets time pass, kills, and looks.
 *
 * @module
 */

import type { Inbox } from '../../inbox/inbox.ts'
import type { DueRun } from '../../inbox/run-due.ts'
import type { EventsOf, SourceMap } from '../../model/event-types.ts'
import { requireSource } from '../../model/require-source.ts'
import type { AnySends, SendMap } from '../../model/sends.ts'
import type { Destination } from '../../outbox/destination.ts'
import { resolveRetention } from '../../retention/options.ts'
import type { Pruned } from '../../retention/prune.ts'
import { CrashPlan } from './crash-plan.ts'
import type { Crash, CrashAt } from './crash-plan.ts'
import type { CrashPoint } from './crash-points.ts'
import { deliverTo, readDeliverOptions } from './deliver.ts'
import type { Delivered, DeliverOptions } from './deliver.ts'
import { readFixture } from './event-fixture.ts'
import type { HandlerRun } from './handler-runs.ts'
import { KeptLog } from './kept-log.ts'
import { catchFetch, noteCall } from './outside-calls.ts'
import type { FetchStub, HandlerTools, OutsideCall } from './outside-calls.ts'
import { makeDelivery, requireSign } from './sender.ts'
import type { Sender } from './sender.ts'
import { signKept } from './sign-kept.ts'
import { requireDestination } from './sink.ts'
import type { SentMessage, SinkAnswer } from './sink.ts'
import { pruneAt, TestClock } from './test-clock.ts'
import type { TestDatabase } from './test-database.ts'
import { TestProcess } from './test-process.ts'
import type { ProcessPlan } from './test-process.ts'
import type { Logger } from '../../telemetry/logger.ts'

export interface BenchParts<Sources extends SourceMap, Tx, Sql> {
  readonly senders: ReadonlyMap<string, Sender>
  readonly database: TestDatabase<Sql, Tx>
  readonly destinations: readonly Destination[]
  readonly fetch: FetchStub | undefined
  readonly logger: Logger | undefined
  readonly inbox: Omit<ProcessPlan<Sources, Tx, Sql>['options'], 'sources'>
  readonly register: (inbox: Inbox<Sources, Tx, Sql>, tools: HandlerTools) => unknown
  /** Removes the database, or what the user does in its place. */
  readonly remove: () => Promise<void>
}

/** Longer than any test: a run ends when nothing is due. */
const BUDGET_MS = 3_600_000
/** An event that is retried for ever would keep a test for ever. */
const ROUNDS_MAX = 1_000

/** The inbox of a test. Made by `testInbox`. */
export class TestBench<Sources extends SourceMap, Tx, Sql, Sends extends SendMap = AnySends> {
  /** Lets time pass without waiting. */
  readonly clock: TestClock
  /** Lets the process die the next time that it comes to a point: `t.crashAt('after-handler')`. */
  readonly crashAt: CrashAt
  readonly #parts: BenchParts<Sources, Tx, Sql>
  readonly #crashes = new CrashPlan()
  readonly #log = new KeptLog()
  readonly #calls: OutsideCall[] = []
  readonly #runs: HandlerRun[] = []
  readonly #sent: SentMessage[] = []
  readonly #answers = new Map<string, SinkAnswer>()
  readonly #graves: Promise<void>[] = []
  readonly #stopFetch: () => void
  #life!: TestProcess<Sources, Tx, Sql>
  #isClosed = false

  private constructor(parts: BenchParts<Sources, Tx, Sql>) {
    this.#parts = parts
    this.#stopFetch = parts.fetch === undefined ? () => undefined : catchFetch()
    this.clock = new TestClock(parts.database as never, () => this.#life.store)
    this.crashAt = (point, options) => this.#crashes.arm(point, options)
  }

  /** For `testInbox`: starts the first process. */
  static async open<Sources extends SourceMap, Tx, Sql, Sends extends SendMap>(
    parts: BenchParts<Sources, Tx, Sql>,
  ): Promise<TestBench<Sources, Tx, Sql, Sends>> {
    const bench = new TestBench<Sources, Tx, Sql, Sends>(parts)
    try {
      bench.#life = await bench.#startProcess()
      return bench
    } catch (error) {
      bench.#stopFetch()
      throw error
    }
  }

  /** The inbox of the process that lives now. After a crash it is another one. */
  get inbox(): Inbox<Sources, Tx, Sql> {
    return this.#life.inbox
  }

  /** The file of the database; `undefined` for a store of your own. */
  get file(): string | undefined {
    return this.#parts.database.file
  }

  /**
   * Delivers an event, signed as its sender would sign it. `type` is one that the kit has a sample of, or any with a
   * `payload`. Nothing of it runs before `idle()`.
   *
   * A sender that gets no answer, because the process died, delivers once more.
   */
  async deliver<Name extends keyof Sources & string>(
    source: Name,
    type: keyof EventsOf<Sources[Name]> & string,
    options: DeliverOptions = {},
  ): Promise<Delivered> {
    readDeliverOptions(options)
    const sender = this.#requireSender(source)
    return this.#send(makeDelivery(source, { sender, type, options }), options)
  }

  /** Delivers what was delivered before once more, as a sender that had no answer would. */
  async redeliver(
    delivered: Delivered,
    options: Pick<DeliverOptions, 'times' | 'parallel'> = {},
  ): Promise<Delivered> {
    readDeliverOptions(options)
    const { source, type, key, again } = delivered
    return this.#send({ source, type, key, first: again(), again }, options)
  }

  /**
   * Delivers what was kept in a file, signed anew: what an operator has exported of an event that went wrong.
   *
   * @param fixture - the path of the file, or what is in it
   */
  async deliverFixture(
    fixture: string | object,
    options: Pick<DeliverOptions, 'times' | 'parallel'> & {
      readonly source?: keyof Sources & string
    } = {},
  ): Promise<Delivered> {
    const { source: kept, type, key, body, headers } = await readFixture(fixture)
    const source = options.source ?? kept
    const { resign } = requireSign(source, this.#requireSender(source))
    const again = () => signKept(resign, { type, ...(key !== undefined && { key }), body, headers })
    const first = again()
    const { source: _own, ...terms } = options
    return this.#send({ source, type, key: key ?? '', first, again }, terms)
  }

  /** Runs what is due until nothing is, and sends what waits. What waits for its next attempt is not due. */
  async idle(): Promise<DueRun> {
    for (;;) {
      const { inbox, died } = this.#life
      const running = inbox.runDue({ budgetMs: BUDGET_MS, graceMs: 0 })
      running.catch(() => undefined)
      const end = await Promise.race([running, died])
      if (typeof end === 'object' && !this.#life.isDead) return end
      await this.#restart()
    }
  }

  /** The same, and skips every wait: all that was delivered has come to its end, or waits for a person. */
  async drain(): Promise<void> {
    for (let round = 0; round < ROUNDS_MAX; round += 1) {
      const { nextDueInMs } = await this.idle()
      if (nextDueInMs === undefined) return
      await this.clock.advance({ ms: nextDueInMs + 1 })
    }
    throw new Error(
      `After ${ROUNDS_MAX} rounds there is still something to do: is an event tried for ever?`,
    )
  }

  /** Forgets what is old by the clock of the test, as an inbox does once a day. */
  async prune(): Promise<Pruned> {
    const sources = new Map([...this.#parts.senders].map(([name, { source }]) => [name, source]))
    const policy = resolveRetention(this.#parts.inbox.retention ?? {}, sources)
    const pruned = await pruneAt(this.#life.store, policy, this.clock.aheadMs)
    // One that runs hears within a second that keys are gone, and forgets them too; this one begins anew.
    const before = this.#life
    this.#life = await this.#startProcess()
    await before.bury()
    return pruned
  }

  /** What is in your tables, as what was committed. */
  async rows<Row = Record<string, unknown>>(
    sql: string,
    values: readonly unknown[] = [],
  ): Promise<readonly Row[]> {
    const reading = await this.#life.store.readings.open({
      statementTimeoutMs: 10_000,
      idleTimeoutMs: 10_000,
    })
    try {
      const { tx } = reading.lend() as { readonly tx: QueryTx<Row> }
      const { rows } = await tx.query(sql, [...values])
      return rows.map((row) => ({ ...row }))
    } finally {
      await reading.close()
    }
  }

  /** Runs a statement on the database, outside of any transaction of the inbox. */
  async execute(sql: string, values?: readonly unknown[]): Promise<void> {
    await this.#parts.database.execute(sql, values && [...values])
  }

  /** The messages that have reached their destination, in the order in which they did. */
  messages(destination?: keyof Sends & string): readonly SentMessage[] {
    if (destination !== undefined) requireDestination(this.#parts.destinations, destination)
    return this.#sent.filter((one) => destination === undefined || one.destination === destination)
  }

  /** The calls that handlers made outside the database, in their order; of those to one only where it is named. */
  calls(to?: string): readonly OutsideCall[] {
    return this.#calls.filter((call) => to === undefined || call.to === to || call.step === to)
  }

  /** Where the process has died so far. */
  crashes(): readonly Crash[] {
    return this.#crashes.happened
  }

  /** How often the process has come to each point so far; those that it has not come to are left out. */
  visits(): ReadonlyMap<CrashPoint, number> {
    return this.#crashes.visits
  }

  /** The runs of handlers so far, in the order in which they began. */
  runs(): readonly HandlerRun[] {
    return this.#runs
  }

  /** What the inbox has logged as a warning or an error. */
  log(): readonly string[] {
    return this.#log.lines
  }

  /** Says what a destination does from now on. It takes what it gets unless this throws, as in a `SendFunction`. */
  onSend(destination: keyof Sends & string, answer: SinkAnswer): void {
    requireDestination(this.#parts.destinations, destination)
    this.#answers.set(destination, answer)
  }

  /** Stops the inbox, removes the database unless it is yours, and then calls your `onClose`. */
  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#stopFetch()
    await this.#life.bury()
    await Promise.all(this.#graves)
    await this.#parts.remove()
  }

  /** `await using` closes it at the end of its block. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  async #send(
    delivery: Pick<Delivered, 'source' | 'type' | 'key' | 'first' | 'again'>,
    options: Pick<DeliverOptions, 'times' | 'parallel'>,
  ): Promise<Delivered> {
    const receive = async (one: Delivered['first']) => {
      const { inbox, died } = this.#life
      const answered = inbox.receive(delivery.source, one)
      // Its sender waits for the handlers.
      const { source } = this.#requireSender(delivery.source)
      if (source.acknowledge === 'processed') void this.idle().catch(() => undefined)
      const answer = await Promise.race([answered, died.then(() => undefined)])
      if (answer === undefined || this.#life.isDead) {
        await this.#restart()
        return undefined
      }
      return answer
    }
    const find = (id: string) => this.inbox.admin.findEvent(id)
    return deliverTo({ receive, find }, delivery, options)
  }

  #requireSender(source: string): Sender {
    requireSource(new Map(this.#parts.senders), source)
    return this.#parts.senders.get(source) as Sender
  }

  async #startProcess(): Promise<TestProcess<Sources, Tx, Sql>> {
    const { senders, database, destinations, fetch, logger, inbox, register } = this.#parts
    const sources = Object.fromEntries([...senders].map(([name, { source }]) => [name, source]))
    const tools: HandlerTools = {
      outside: (to, idempotencyKey) =>
        noteCall({ to, by: 'service', idempotencyKey, isSafe: false }),
    }
    return TestProcess.start<Sources, Tx, Sql>({
      makeStore: database.makeStore,
      options: { ...inbox, sources: sources as unknown as Sources },
      destinations,
      logger: logger ?? this.#log,
      register: (one) => register(one, tools),
      sink: { sent: this.#sent, findAnswer: (name) => this.#answers.get(name) },
      watch: { calls: this.#calls, runs: this.#runs, fetch },
      takesCrash: (point) => this.#crashes.take(point),
      isArmed: (point) => this.#crashes.isArmed(point),
      noteVisit: (point) => this.#crashes.note(point),
    })
  }

  #restarting: Promise<void> | undefined

  /** Another process takes the place of the dead one. All callers that notice the death wait for the same. */
  async #restart(): Promise<void> {
    if (!this.#life.isDead) return
    this.#restarting ??= this.#replace().finally(() => (this.#restarting = undefined))
    await this.#restarting
  }

  async #replace(): Promise<void> {
    const dead = this.#life
    const next = await this.#startProcess()
    // What other workers do when the heart of one has stood still for `deadAfterMs`, without the wait.
    const hearts = await next.store.workers.listHearts()
    const stopped = hearts.filter(({ workerId }) => dead.workerIds.has(workerId))
    await next.store.workers.sweep({ stopped, crashesMax: CRASHES_MAX })
    this.#life = next
    this.#graves.push(dead.bury())
    if (this.#parts.destinations.length > 0) await this.clock.advance({ minutes: LEASE_MINUTES })
  }
}

/** A test may kill an event's process as often as it likes: it is not the event that takes the process down. */
const CRASHES_MAX = 100
/** A message that a dead relay had is another's when its lease has ended. */
const LEASE_MINUTES = 2

interface QueryTx<Row> {
  query(sql: string, values: unknown[]): Promise<{ readonly rows: readonly Row[] }>
}
