/**
 * Compares what the inbox says is done with what is in the user's own tables.
 *
 *     walk what is at rest ─▶ read a few events ─▶ ask `exists` in a read transaction ─▶ replay what is missing
 *
 * What is done and has no effect was lost outside of the inbox: a table was restored, a row was deleted by hand, or a
 * handler had a bug. So this asks the user's tables and never the inbox's own.
 *
 * A replay goes through the inbox like one that an operator asks for. Its token names the run whose effect is missing:
 * however many of these run at once, or after a crash, a run is replayed once.
 *
 * @module
 */

import { asError, HookonceError } from '../errors.ts'
import type { EventId, WebhookEvent } from '../model/event.ts'
import { createPlainEnvelope } from '../model/envelope.ts'
import { lowestIdAt } from '../model/id-range.ts'
import type { EventRecord } from '../model/outcome.ts'
import { createMatcher } from '../model/type-matcher.ts'
import type { SettledEvent } from '../store/contract/event-search.ts'
import type { Reading } from '../store/contract/readings.ts'
import type { Store } from '../store/contract/store.ts'
import type { ActionRefused, EventActionResult } from './action-result.ts'
import type { Operator } from './operator.ts'
import type { ReconcileOptions } from './reconcile-options.ts'

/** What `inbox.reconcile` found. Lists end at 1,000; the numbers do not. */
export interface ReconcileReport {
  /** Done events that `exists` was asked about. */
  readonly lookedAt: number
  /** How many of them have no effect. */
  readonly missing: number
  readonly missingEvents: readonly MissingEffect[]
  /** How many were replayed, by this call or by an earlier one that broke off. */
  readonly replayed: number
  /** How many could not be asked about: `exists` threw, or gave neither `true` nor `false`. */
  readonly failed: number
  readonly failedEvents: readonly FailedLook[]
  /** Done events whose payload was erased, or pruned with its source and type: nothing was asked about them. */
  readonly withoutPayload: number
  /** Whether all of the time was looked at. It was not where `signal` broke it off. */
  readonly isComplete: boolean
}

/** A done event whose effect is missing. */
export interface MissingEffect {
  readonly eventId: EventId
  readonly source: string
  readonly key: string | undefined
  readonly type: string
  readonly receivedAt: Date
  /** What became of its replay; `undefined` where none was asked for. */
  readonly replay: EventActionResult | undefined
}

/** An event about which `exists` gave no answer. */
export interface FailedLook {
  readonly eventId: EventId
  readonly error: Error
}

export interface ReconcileContext<Sql, Tx> {
  readonly store: Pick<
    Store<Sql, Tx>,
    'search' | 'operators' | 'readings' | 'stats' | 'bindTx' | 'runBound'
  >
  readonly replay: Operator['replay']
}

/** How many rows are looked at in one statement. */
const LOOK = 500
/** How many events, and how many bytes of bodies, are in memory at once. */
const BATCH = 50
const BATCH_BYTES = 4 * 1_048_576
/** How much of the lists is kept. */
const LISTED_MAX = 1_000
const LIMITS = { statementTimeoutMs: 30_000, idleTimeoutMs: 60_000 }

/** Looks at everything that was asked for, oldest first. */
export async function reconcile<Sql, Tx>(
  context: ReconcileContext<Sql, Tx>,
  options: ReconcileOptions<Tx, never>,
): Promise<ReconcileReport> {
  const tally = new Tally()
  const fits = createFilter(options)
  let batch: DoneEvent[] = []
  let bytes = 0
  const check = async (): Promise<void> => {
    const events = batch
    batch = []
    bytes = 0
    const missing = await findMissing(context, options, { events, tally })
    for (const event of missing) tally.addMissing(await replayIf(context, options, event))
  }
  for await (const settled of walk(context, options)) {
    if (options.signal?.aborted === true) return tally.report({ isComplete: false })
    if (!settled.isDone) continue
    if (settled.payload !== 'kept') {
      if (settled.payload === 'pruned' || fits(settled)) tally.withoutPayload += 1
      continue
    }
    if (!fits(settled)) continue
    const event = await readDone(context, settled)
    if (event === undefined) continue
    batch.push(event)
    bytes += event.record.body.byteLength
    if (batch.length >= BATCH || bytes >= BATCH_BYTES) await check()
  }
  await check()
  return tally.report({ isComplete: options.signal?.aborted !== true })
}

async function* walk<Sql, Tx>(
  { store }: ReconcileContext<Sql, Tx>,
  { since, until }: ReconcileOptions<Tx, never>,
): AsyncGenerator<SettledEvent, void> {
  // By the database's clock, which the ids follow. What is stored from now on would never end.
  const end = until ?? (await store.stats.now())
  const below = lowestIdAt(end.getTime() + 1)
  // Below every id of that time: none is made of zeros only.
  let after = lowestIdAt(Math.max(0, since.getTime()))
  for (;;) {
    const page = await store.search.walkSettled({ after, below, limit: LOOK })
    yield* page
    const last = page.at(-1)
    if (last === undefined || page.length < LOOK) return
    after = last.id
  }
}

function createFilter<Tx>({
  source,
  types,
}: ReconcileOptions<Tx, never>): (event: SettledEvent) => boolean {
  const matches = types === undefined ? () => true : createMatcher(types)
  return (event) => (source === undefined || event.source === source) && matches(event.type)
}

/** A done event, as its last run has seen it. */
interface DoneEvent {
  readonly record: EventRecord
  readonly run: number
  /** What an operator gave its last run in place of the body. */
  readonly edited: Uint8Array | undefined
}

/** `undefined` where it is no longer as it was when it was looked at. */
async function readDone<Sql, Tx>(
  { store }: ReconcileContext<Sql, Tx>,
  { id, run }: SettledEvent,
): Promise<DoneEvent | undefined> {
  const record = await store.operators.findEvent(id)
  if (record?.state !== 'done' || record.payload !== 'kept') return undefined
  const runs = run === 0 ? [] : await store.operators.listRuns(id)
  return { record, run, edited: runs.find((one) => one.run === run)?.body }
}

/** Those of these events whose effect is not there. */
async function findMissing<Sql, Tx>(
  { store }: ReconcileContext<Sql, Tx>,
  { exists, signal }: ReconcileOptions<Tx, never>,
  { events, tally }: { readonly events: readonly DoneEvent[]; readonly tally: Tally },
): Promise<readonly DoneEvent[]> {
  const missing: DoneEvent[] = []
  let reading: Reading<Sql> | undefined
  try {
    for (const event of events) {
      if (signal?.aborted === true) break
      // A statement that failed has spoilt the transaction, for the others as well.
      if (reading !== undefined && reading.status() !== 'open') {
        await reading.close()
        reading = undefined
      }
      reading ??= await store.readings.open(LIMITS)
      tally.lookedAt += 1
      try {
        if (
          !(await ask(reading, event, (envelope, sql) =>
            store.runBound(sql, () => exists(envelope, store.bindTx(sql))),
          ))
        )
          missing.push(event)
      } catch (error) {
        tally.addFailed({ eventId: event.record.id, error: asError(error) })
        await reading.close()
        reading = undefined
      }
    }
  } finally {
    await reading?.close()
  }
  return missing
}

async function ask<Sql>(
  reading: Reading<Sql>,
  event: DoneEvent,
  exists: (envelope: WebhookEvent<never>, sql: Sql) => boolean | Promise<boolean>,
): Promise<boolean> {
  const lent = reading.lend()
  try {
    const answer: unknown = await exists(envelopeOf(event) as WebhookEvent<never>, lent.tx)
    lent.requireClosed()
    await lent.flush()
    // A `return` that was forgotten must not replay everything.
    if (typeof answer !== 'boolean')
      throw new HookonceError('RESULT_INVALID', 'exists must return true or false')
    // A statement whose failure was caught may be why the effect was not found.
    if (reading.status() !== 'open')
      throw new HookonceError('TRANSACTION_ENDED', 'A statement of exists failed, or ended its tx')
    return answer
  } finally {
    await lent.revoke()
  }
}

function envelopeOf({ record, edited }: DoneEvent): WebhookEvent {
  return createPlainEnvelope({
    eventId: record.id,
    source: record.source,
    key: record.key ?? '',
    type: record.type,
    body: { bytes: edited ?? record.body },
    headers: record.headers,
    receivedAt: record.receivedAt,
    occurredAt: record.occurredAt,
    verifiedBy: record.verifiedBy,
    isModified: edited !== undefined,
  })
}

async function replayIf<Sql, Tx>(
  { replay }: ReconcileContext<Sql, Tx>,
  { rerun }: ReconcileOptions<Tx, never>,
  { record, run, edited }: DoneEvent,
): Promise<MissingEffect> {
  const { id: eventId, source, key, type, receivedAt } = record
  const missing = { eventId, source, key, type, receivedAt }
  if (rerun === undefined) return { ...missing, replay: undefined }
  const replayed = await replay(eventId, {
    ...rerun,
    token: `reconcile ${eventId} ${run}`,
    ...(edited !== undefined && { body: edited }),
  })
  return { ...missing, replay: replayed }
}

class Tally {
  lookedAt = 0
  withoutPayload = 0
  #missing = 0
  #replayed = 0
  #failed = 0
  readonly #missingEvents: MissingEffect[] = []
  readonly #failedEvents: FailedLook[] = []

  addMissing(event: MissingEffect): void {
    this.#missing += 1
    if (isDone(event.replay)) this.#replayed += 1
    if (this.#missingEvents.length < LISTED_MAX) this.#missingEvents.push(event)
  }

  addFailed(look: FailedLook): void {
    this.#failed += 1
    if (this.#failedEvents.length < LISTED_MAX) this.#failedEvents.push(look)
  }

  report({ isComplete }: { readonly isComplete: boolean }): ReconcileReport {
    return {
      lookedAt: this.lookedAt,
      missing: this.#missing,
      missingEvents: this.#missingEvents,
      replayed: this.#replayed,
      failed: this.#failed,
      failedEvents: this.#failedEvents,
      withoutPayload: this.withoutPayload,
      isComplete,
    }
  }
}

function isDone(
  result: EventActionResult | undefined,
): result is Exclude<EventActionResult, ActionRefused> {
  return result?.status === 'done'
}
