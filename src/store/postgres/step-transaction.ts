/**
 * The transaction of steps: it holds their leases, what the handlers write, and the steps' results.
 *
 * Two round trips beside the handlers' own statements, however many steps share it. The values of ours are
 * put into the text, since one text with several statements takes no parameters: as numbers, uuids that were
 * checked, or hex.
 *
 * @module
 */

import type { CommitResult } from '../contract/store.ts'
import type { OpenStep, StepLimits, StepResult, StepTransaction } from '../contract/steps.ts'
import { rollBack } from './connection.ts'
import type { Connection } from './connection.ts'
import { withoutNul } from './binary-array.ts'
import type { PostgresTx } from './driver.ts'
import { HeldTransaction } from './held-transaction.ts'
import type { OpenTransaction } from './held-transaction.ts'
import { isEventId } from './is-event-id.ts'
import type { SessionWatch, SessionWatcher } from './session-watch.ts'

export class PostgresStepTransaction
  extends HeldTransaction
  implements StepTransaction<PostgresTx>
{
  readonly held: readonly boolean[]
  readonly #steps: readonly OpenStep[]

  constructor(transaction: OpenTransaction, steps: readonly OpenStep[], held: readonly boolean[]) {
    super(transaction)
    this.#steps = steps
    this.held = held
  }

  async commit(results: readonly (StepResult | undefined)[]): Promise<CommitResult> {
    const held = this.#steps.flatMap((step, at) =>
      this.held[at] === true ? [{ step, result: results[at] }] : [],
    )
    const steps = held.map(({ step }) => step)
    const ran = held.map(({ result }) => result !== undefined)
    const texts = held.map(({ result }) => result?.text)
    const values = [
      eventsOf(steps),
      runsOf(steps),
      textsOf(steps.map(({ handler }) => handler)),
      positionsOf(steps),
      `array[${ran.join(', ')}]`,
      textsOf(texts),
    ]
    return this.commitAfter([`${this.connection.schema}.finish_steps(${values.join(', ')})`])
  }
}

export interface StepTransactionContext {
  readonly watcher: SessionWatcher
  readonly cancel: (pid: number) => Promise<void>
  readonly onEnd: (transaction: HeldTransaction) => void
}

/** Takes the connection; gives it back when no lease is held. */
export async function openStepTransaction(
  connection: Connection,
  steps: readonly OpenStep[],
  limits: StepLimits,
  { watcher, cancel, onEnd }: StepTransactionContext,
): Promise<PostgresStepTransaction | undefined> {
  const values = [
    eventsOf(steps),
    runsOf(steps),
    numbers(
      steps.map(({ lease }) => lease.token),
      'bigint',
    ),
    textsOf(steps.map(({ handler }) => handler)),
    positionsOf(steps),
    textsOf(steps.map(({ kind }) => kind)),
    textsOf(steps.map(({ name }) => name)),
  ]
  const settings = { statementTimeoutMs: 0, ...limits }
  let rows: readonly Record<string, unknown>[]
  let watch: SessionWatch
  try {
    const begun = await watcher.begin(connection, settings, [
      `select ord, pid, xid from ${connection.schema}.open_steps(${values.join(', ')})`,
    ])
    watch = begun.watch
    rows = begun.opened?.rows ?? []
  } catch (error) {
    await rollBack(connection)
    throw error
  }
  const [first] = rows
  if (first === undefined) {
    await rollBack(connection)
    return undefined
  }
  const found = new Set(rows.map((row) => Number(row['ord'])))
  const pid = Number(first['pid'])
  const isAlone = steps.length === 1
  return new PostgresStepTransaction(
    { connection, xid: String(first['xid']), isAlone, watch, cancel: () => cancel(pid), onEnd },
    steps,
    steps.map((_, at) => found.has(at + 1)),
  )
}

function eventsOf(steps: readonly OpenStep[]): string {
  return `'{${steps.map(({ lease }) => requireUuid(lease.eventId)).join(',')}}'::uuid[]`
}

function runsOf(steps: readonly OpenStep[]): string {
  return numbers(
    steps.map(({ lease }) => lease.run),
    'integer',
  )
}

function positionsOf(steps: readonly OpenStep[]): string {
  return numbers(
    steps.map(({ position }) => position),
    'integer',
  )
}

/** Hex, whatever `standard_conforming_strings` is. */
function textsOf(texts: readonly (string | undefined)[]): string {
  const each = texts.map((text) => {
    if (text === undefined) return 'null'
    const hex = Buffer.from(withoutNul(text)).toString('hex')
    return `convert_from(decode('${hex}', 'hex'), 'UTF8')`
  })
  return `array[${each.join(', ')}]::text[]`
}

function numbers(values: readonly number[], type: 'integer' | 'bigint'): string {
  if (!values.every(Number.isSafeInteger)) throw new Error('Not whole numbers')
  return `'{${values.join(',')}}'::${type}[]`
}

function requireUuid(eventId: string): string {
  if (!isEventId(eventId)) throw new Error('Not the id of an event')
  return eventId
}
