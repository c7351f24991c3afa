/**
 * The same action on many events: planned first, so that a person sees how many and which, and then run.
 *
 * The plan keeps the events that were chosen. What was counted is what is acted on, also where more events have come
 * to fit the filter since.
 *
 * @module
 */

import { OptionInvalidError } from '../errors.ts'
import { BULK_ACTIONS, refusalOfBulk } from '../model/bulk.ts'
import type { BulkAction, BulkId, BulkRecord, BulkTerms } from '../model/bulk.ts'
import { ACTION_RULES } from '../model/event-action.ts'
import type { EventState } from '../model/event-state.ts'
import type { EventSummary } from '../model/event-summary.ts'
import { createUuidV7Generator } from '../model/uuid-v7.ts'
import { rejectUnknownKeys } from '../options/reject-unknown-keys.ts'
import { requireInteger } from '../options/require-integer.ts'
import { requireOneOf } from '../options/require-one-of.ts'
import type { BulkDraft } from '../store/contract/bulks.ts'
import type { Store } from '../store/contract/store.ts'
import type { Happenings } from '../telemetry/happenings.ts'
import type { Act } from './act.ts'
import { requireOrder, requireReason } from './action-options.ts'
import type { ActionOptions } from './action-options.ts'
import type { ActionRefused, ActionResult } from './action-result.ts'
import type { BulkEnd, BulkRunner } from './bulk-runner.ts'
import { resolveEventFilter } from './event-query.ts'
import type { EventFilter, ResolvedEventQuery } from './event-query.ts'
import { listEvents } from './list-events.ts'
import { refuse } from './refusals.ts'
import { LIST_LIMIT, requireLimit, requireText } from './require-arguments.ts'

/** Actions on many events: `inbox.admin.bulk`. */
export interface BulkOperator {
  /**
   * Chooses the events that fit, 100,000 at most, and keeps their ids. Nothing is done to them yet. Looks at every
   * event that may fit, which takes a while where a text or a payload is looked for among a million.
   */
  plan(plan: BulkPlan): Promise<PlannedBulk>
  /**
   * Acts on the events of a bulk, one after the other, in the background of this process. Each is acted on once,
   * however often this is called, in however many processes, and wherever one of them dies.
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

/** What is to be done, and to which events. */
export interface BulkPlan {
  /** What is done to each event. */
  readonly action: BulkAction
  /**
   * Which events. Without a state in it: `retry` is for those that are dead; `release` for conflicts and quarantined
   * ones; `discard` for those and for the dead and the unhandled; `replay` for those that have come to their end.
   */
  readonly filter: EventFilter
  /** Why. Needed for everything but `retry`. Left out, the audit says nothing of it. */
  readonly reason?: string
  /** Who: a name, or an address. Left out, the audit says nothing of it. */
  readonly actor?: string
  /**
   * For `replay`: whether each run has idempotency keys of its own, so that outside calls are made and messages are
   * sent once more.
   *
   * @defaultValue false
   */
  readonly freshKeys?: boolean
  /**
   * For `replay`: whether an event of which a run has ended as done is refused. Then no event that is done is chosen.
   *
   * @defaultValue true
   */
  readonly onlyIfNotApplied?: boolean
}

/** What was planned. */
export interface PlannedBulk {
  readonly id: BulkId
  /** How many events were chosen. */
  readonly count: number
  /** Whether these are all that fit. Otherwise run this one, and plan again. */
  readonly isComplete: boolean
  /** Some of them, newest first: 10 at most. */
  readonly sample: readonly EventSummary[]
}

/** Which bulks are listed. */
export interface ListBulksQuery {
  /**
   * Whether those are listed as well that have ended, were aborted, or are being planned.
   *
   * @defaultValue false
   */
  readonly all?: boolean
  /**
   * How many at most.
   *
   * @defaultValue 100
   */
  readonly limit?: number
}

/** How a bulk is run. */
export interface BulkRunOptions {
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

/** So many events are chosen at most: a plan is a list that a person answers for. */
const EVENTS_MAX = 100_000
const PAGE = 1_000
const SAMPLE_MAX = 10
const RATE_PER_SECOND = 50

export function createBulkOperator(
  act: Act,
  runner: BulkRunner,
  onActed: (acted: Happenings['operator.acted']) => void,
): BulkOperator {
  const newId = createUuidV7Generator(Date.now)
  return {
    plan: async (plan) => {
      const { draft, filter } = resolvePlan(newId(), plan)
      return act((store) => planBulk(store, draft, filter))
    },
    run: async (id, options = {}) => {
      requireText('bulk.run.id', id, 'the id of a bulk')
      rejectUnknownKeys('admin.bulk.run', options, ['ratePerSecond'])
      const { ratePerSecond = RATE_PER_SECOND } = options
      requireInteger('admin.bulk.run.ratePerSecond', ratePerSecond, { min: 1, max: 10_000 })
      return act(async (store) => {
        const state = (await store.bulks.find(id))?.state
        if (state !== 'planned') return refuse('bulk', refusalOfBulk(state))
        return { status: 'done', ended: runner.run(store, id, ratePerSecond) }
      })
    },
    find: async (id) => {
      requireText('bulk.find.id', id, 'the id of a bulk')
      return act(({ bulks }) => bulks.find(id))
    },
    list: async (query = {}) => {
      rejectUnknownKeys('admin.bulk.list', query, ['all', 'limit'])
      const { all = false, limit = LIST_LIMIT } = query
      if (typeof all !== 'boolean')
        throw new OptionInvalidError('admin.bulk.list.all', 'true or false', all)
      requireLimit('bulk.list.limit', limit)
      return act(({ bulks }) => bulks.list({ which: all ? 'all' : 'unfinished', limit }))
    },
    abort: async (id, options = {}) => {
      requireText('bulk.abort.id', id, 'the id of a bulk')
      const order = requireOrder('bulk.abort', options)
      const aborted = await act(({ bulks }) => bulks.abort(id, order))
      if (aborted.status === 'refused') return refuse('bulk', aborted.code)
      const { actor, reason } = order
      onActed({ action: 'bulk.abort', subject: { kind: 'bulk', id }, actor, reason })
      return aborted
    },
  }
}

type ChosenEvents = Omit<ResolvedEventQuery, 'limit'>

function resolvePlan(
  id: BulkId,
  plan: BulkPlan,
): { readonly draft: BulkDraft; readonly filter: ChosenEvents } {
  const path = 'admin.bulk.plan'
  rejectUnknownKeys(path, plan, [...PLAN_NAMES, ...TERM_NAMES])
  const { action, filter, reason, actor } = plan
  requireOneOf(`${path}.action`, action, Object.keys(BULK_ACTIONS))
  if (action !== 'retry') requireReason('bulk.plan', plan)
  const order = requireOrder('bulk.plan', {
    ...(reason !== undefined && { reason }),
    ...(actor !== undefined && { actor }),
  })
  const terms = requireTerms(path, plan)
  const resolved = resolveEventFilter('bulk.plan.filter', filter)
  const states = resolved.states ?? new Set(statesFor(action, terms))
  for (const state of states) requireStateFor(`${path}.filter.state`, state, action, terms)
  const draft = {
    id,
    action,
    filter: JSON.stringify(filter),
    reason: order.reason,
    actor: order.actor,
    terms,
  }
  return { draft, filter: { ...resolved, states } }
}

const PLAN_NAMES = ['action', 'filter', 'reason', 'actor'] as const
const TERM_NAMES = ['freshKeys', 'onlyIfNotApplied'] as const

function requireTerms(path: string, plan: BulkPlan): BulkTerms | undefined {
  const given = TERM_NAMES.find((name) => plan[name] !== undefined)
  if (plan.action !== 'replay') {
    if (given === undefined) return undefined
    throw new OptionInvalidError(`${path}.${given}`, 'left out: it is for replay', plan[given])
  }
  // For a selection it is the safe one: nothing that has had its effect has it again because a filter was wide.
  const { freshKeys = false, onlyIfNotApplied = true } = plan
  for (const [name, flag] of Object.entries({ freshKeys, onlyIfNotApplied }))
    if (typeof flag !== 'boolean')
      throw new OptionInvalidError(`${path}.${name}`, 'true or false', flag)
  return { freshKeys, onlyIfNotApplied }
}

/** What is counted is what is acted on: one that is done would be counted, and refused. */
function isApplied(state: EventState, terms: BulkTerms | undefined): boolean {
  return terms?.onlyIfNotApplied === true && state === 'done'
}

function statesFor(action: BulkAction, terms: BulkTerms | undefined): readonly EventState[] {
  const states: readonly EventState[] = BULK_ACTIONS[action]
  return states.filter((state) => !isApplied(state, terms))
}

function requireStateFor(
  option: string,
  state: EventState,
  action: BulkAction,
  terms: BulkTerms | undefined,
): void {
  if (ACTION_RULES[action][state] === undefined) {
    const expected = `what ${action} is for: ${Object.keys(ACTION_RULES[action]).join(', ')}`
    throw new OptionInvalidError(option, expected, state)
  }
  if (isApplied(state, terms)) {
    const expected = 'not done, unless onlyIfNotApplied is false: what is done was applied'
    throw new OptionInvalidError(option, expected, state)
  }
}

async function planBulk(
  store: Store<unknown>,
  draft: BulkDraft,
  filter: ChosenEvents,
): Promise<PlannedBulk> {
  const { bulks, search } = store
  const { id } = draft
  await bulks.create(draft)
  let { below } = filter
  let count = 0
  let isComplete = false
  while (!isComplete && count < EVENTS_MAX) {
    const page = await listEvents(search, { ...filter, below, limit: PAGE })
    if (page.events.length > 0)
      await bulks.addEvents(
        id,
        page.events.map((event) => event.id),
      )
    count += page.events.length
    isComplete = page.cursor === undefined
    below = page.cursor ?? below
  }
  await bulks.endPlanning(id)
  const sample = await search.summarize(await bulks.listEvents(id, SAMPLE_MAX))
  return { id, count, isComplete, sample }
}
