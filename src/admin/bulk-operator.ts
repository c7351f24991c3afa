/**
 * The same action on many events, or messages: planned first, so that a person sees how many and which, and then run.
 *
 * @module
 */

import { OptionInvalidError } from '../errors.ts'
import type { BulkId, BulkRecord } from '../model/bulk.ts'
import { createUuidV7Generator } from '../model/uuid-v7.ts'
import { rejectUnknownKeys } from '../options/reject-unknown-keys.ts'
import { requireInteger } from '../options/require-integer.ts'
import type { Ordered } from '../store/contract/operators.ts'
import type { Happenings } from '../telemetry/happenings.ts'
import type { Act } from './act.ts'
import { requireOrder } from './action-options.ts'
import type { ActionOptions } from './action-options.ts'
import type { ActionRefused, ActionResult } from './action-result.ts'
import type { BulkEnd, BulkRunner } from './bulk-runner.ts'
import { planBulk, resolveBulkPlan } from './plan-bulk.ts'
import type { BulkPlan, MessageBulkPlan, PlannedBulk } from './plan-bulk.ts'
import { refuse } from './refusals.ts'
import { requireId, requirePageBelow } from './require-arguments.ts'
import type { PageQuery } from './require-arguments.ts'

/** Actions on many events: `inbox.admin.bulk`. */
export interface BulkOperator {
  /**
   * Chooses the events that fit, 100,000 at most, and keeps their ids. Nothing is done to them yet. Looks at every
   * event that may fit, which takes a while where a text or a payload is looked for among a million. With
   * `retryMessage` or `discardMessage` messages are chosen in the same way.
   */
  plan(plan: BulkPlan | MessageBulkPlan): Promise<PlannedBulk>
  /**
   * Acts on the events of a bulk, the oldest first and one after the other, in the background of this process. Each is
   * acted on once, however often this is called, in however many processes, and wherever one of them dies.
   */
  run(id: BulkId, options?: BulkRunOptions): Promise<BulkRun | ActionRefused>
  /** How far it has come. `undefined` when there is no such bulk. */
  find(id: BulkId): Promise<BulkRecord | undefined>
  /**
   * Those that have events left, latest first: planned and not run yet, running, or interrupted. `run` goes on with
   * each, and `abort` leaves the rest. One whose process died while it was planned cannot be run, and is not among them.
   */
  list(query?: ListBulksQuery): Promise<readonly BulkRecord[]>
  /** Nothing more is done, in any process. What was done stays. */
  abort(id: BulkId, options?: ActionOptions): Promise<ActionResult>
}

/** Which bulks are listed. */
export interface ListBulksQuery extends PageQuery {
  /**
   * Whether those are listed as well that have ended, were aborted, or are being planned.
   *
   * @defaultValue false
   */
  readonly all?: boolean
}

/** How a bulk is run, by whom, and why. The audit keeps who ran it, and who has planned what was done to each event. */
export interface BulkRunOptions extends ActionOptions {
  /**
   * How many events a second are acted on at most, by this process.
   *
   * @defaultValue 50
   */
  readonly ratePerSecond?: number
}

/** A bulk that runs in this process. */
export interface BulkRun {
  readonly status: 'done'
  /** Resolves when this process does nothing more for it, with why. Never rejects. */
  readonly ended: Promise<BulkEnd>
}

const RATE_PER_SECOND = 50

export function createBulkOperator(
  act: Act,
  runner: BulkRunner,
  onActed: (acted: Happenings['operator.acted']) => void,
): BulkOperator {
  const newId = createUuidV7Generator(Date.now)
  return {
    plan: async (plan) => {
      const { draft, choose } = resolveBulkPlan(newId(), plan)
      const planned = await act((store) => planBulk(store, draft, choose))
      const subject = { kind: 'bulk', id: planned.id } as const
      onActed({ action: 'bulk.plan', subject, ...whoAndWhy(draft) })
      return planned
    },
    run: async (given, options = {}) => {
      const id = requireId('bulk.run.id', given, 'a bulk')
      const { ratePerSecond = RATE_PER_SECOND, ...rest } = options
      const order = requireOrder('bulk.run', rest)
      requireInteger('admin.bulk.run.ratePerSecond', ratePerSecond, { min: 1, max: 10_000 })
      return act(async (store) => {
        const begun = await store.bulks.beginRun(id, order)
        if (begun.status === 'refused') return refuse('bulk', begun.code)
        onActed({ action: 'bulk.run', subject: { kind: 'bulk', id }, ...whoAndWhy(order) })
        return { status: 'done', ended: runner.run(store, id, ratePerSecond) }
      })
    },
    find: async (given) => {
      const id = requireId('bulk.find.id', given, 'a bulk')
      return act(({ bulks }) => bulks.find(id))
    },
    list: async (query = {}) => {
      rejectUnknownKeys('admin.bulk.list', query, ['all', 'cursor', 'limit'])
      const { all = false, ...rest } = query
      if (typeof all !== 'boolean')
        throw new OptionInvalidError('admin.bulk.list.all', 'true or false', all)
      const page = requirePageBelow('bulk.list', rest)
      return act(({ bulks }) => bulks.list({ which: all ? 'all' : 'unfinished', ...page }))
    },
    abort: async (given, options = {}) => {
      const id = requireId('bulk.abort.id', given, 'a bulk')
      const order = requireOrder('bulk.abort', options)
      const aborted = await act(({ bulks }) => bulks.abort(id, order))
      if (aborted.status === 'refused') return refuse('bulk', aborted.code)
      onActed({ action: 'bulk.abort', subject: { kind: 'bulk', id }, ...whoAndWhy(order) })
      return aborted
    },
  }
}

function whoAndWhy({ actor, reason }: Pick<Ordered, 'actor' | 'reason'>) {
  return { actor, reason }
}
