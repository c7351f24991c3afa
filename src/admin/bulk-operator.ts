/**
 * The same action on many events: planned first, so that a person sees how many and which, and then run.
 *
 * The plan keeps the events that were chosen. What was counted is what is acted on, also where more events have come
 * to fit the filter since.
 *
 * @module
 */

import { OptionInvalidError } from '../errors.ts'
import { BULK_ACTIONS } from '../model/bulk.ts'
import type { BulkAction, BulkId, BulkRecord } from '../model/bulk.ts'
import type { EventState } from '../model/event-state.ts'
import type { EventSummary } from '../model/event-summary.ts'
import { createUuidV7Generator } from '../model/uuid-v7.ts'
import { rejectUnknownKeys } from '../options/reject-unknown-keys.ts'
import { requireInteger } from '../options/require-integer.ts'
import { requireOneOf } from '../options/require-one-of.ts'
import type { BulkDraft } from '../store/contract/bulks.ts'
import type { Store } from '../store/contract/store.ts'
import type { BulkEnd, BulkRunner } from './bulk-runner.ts'
import type { Ask } from './event-finder.ts'
import { resolveEventFilter } from './event-query.ts'
import type { EventFilter, ResolvedEventQuery } from './event-query.ts'
import { listEvents } from './list-events.ts'
import { requireText } from './require-arguments.ts'

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
  run(id: BulkId, options?: BulkRunOptions): Promise<BulkRun | BulkRefused>
  /** How far it has come. `undefined` when there is no such bulk. */
  find(id: BulkId): Promise<BulkRecord | undefined>
  /** Nothing more is done, in any process. What was done stays. */
  abort(id: BulkId): Promise<BulkAborted | BulkRefused>
}

/** What is to be done, and to which events. */
export interface BulkPlan {
  /** What is done to each event. */
  readonly action: BulkAction
  /** Which events. Without a state in it: those that the action is for. */
  readonly filter: EventFilter
  /** Why, for those who ask later. Left out: it is not said. */
  readonly reason?: string
  /** Who wants it. Left out: it is not said. */
  readonly actor?: string
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

/** It is aborted. */
export interface BulkAborted {
  readonly status: 'done'
}

/** Nothing was changed. */
export interface BulkRefused {
  readonly status: 'refused'
  /** Stable: match on it, never on the texts. */
  readonly code: 'BULK_UNKNOWN' | 'BULK_UNPLANNED' | 'BULK_ABORTED'
  /** Why. */
  readonly reason: string
  /** What to do instead. */
  readonly instead: string
}

/** So many events are chosen at most: a plan is a list that a person answers for. */
const EVENTS_MAX = 100_000
const PAGE = 1_000
const SAMPLE_MAX = 10
const RATE_PER_SECOND = 50

export function createBulkOperator(ask: Ask, runner: BulkRunner): BulkOperator {
  const newId = createUuidV7Generator(Date.now)
  return {
    plan: async (plan) => {
      const { draft, filter } = resolvePlan(newId(), plan)
      return ask((store) => planBulk(store, draft, filter))
    },
    run: async (id, options = {}) => {
      requireText('bulk.run.id', id, 'the id of a bulk')
      rejectUnknownKeys('admin.bulk.run', options, ['ratePerSecond'])
      const { ratePerSecond = RATE_PER_SECOND } = options
      requireInteger('admin.bulk.run.ratePerSecond', ratePerSecond, { min: 1, max: 10_000 })
      return ask(async (store) => {
        const bulk = await store.bulks.find(id)
        if (bulk?.state !== 'planned') return refuse(bulk)
        return { status: 'done', ended: runner.run(store, id, ratePerSecond) }
      })
    },
    find: async (id) => {
      requireText('bulk.find.id', id, 'the id of a bulk')
      return ask(({ bulks }) => bulks.find(id))
    },
    abort: async (id) => {
      requireText('bulk.abort.id', id, 'the id of a bulk')
      return ask(async ({ bulks }) =>
        (await bulks.abort(id)) ? { status: 'done' } : refuse(await bulks.find(id)),
      )
    },
  }
}

type ChosenEvents = Omit<ResolvedEventQuery, 'limit'>

function resolvePlan(
  id: BulkId,
  plan: BulkPlan,
): { readonly draft: BulkDraft; readonly filter: ChosenEvents } {
  rejectUnknownKeys('admin.bulk.plan', plan, ['action', 'filter', 'reason', 'actor'])
  const { action, filter, reason, actor } = plan
  requireOneOf('admin.bulk.plan.action', action, Object.keys(BULK_ACTIONS))
  for (const [name, value] of Object.entries({ reason, actor }))
    if (value !== undefined) requireText(`bulk.plan.${name}`, value, 'a text, or left out')
  const resolved = resolveEventFilter('bulk.plan.filter', filter)
  const allowed: readonly EventState[] = BULK_ACTIONS[action]
  const states = resolved.states ?? new Set(allowed)
  const other = [...states].find((state) => !allowed.includes(state))
  if (other !== undefined) {
    const expected = `what ${action} is for: ${allowed.join(', ')}`
    throw new OptionInvalidError('admin.bulk.plan.filter.state', expected, other)
  }
  const draft = { id, action, filter: JSON.stringify(filter), reason, actor }
  return { draft, filter: { ...resolved, states } }
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

function refuse(bulk: BulkRecord | undefined): BulkRefused {
  if (bulk === undefined) {
    return {
      status: 'refused',
      code: 'BULK_UNKNOWN',
      reason: 'There is no such bulk',
      instead: 'Plan one with admin.bulk.plan, and use the id that it returns',
    }
  }
  return bulk.state === 'aborted'
    ? {
        status: 'refused',
        code: 'BULK_ABORTED',
        reason: 'The bulk was aborted',
        instead: 'Plan another one for the events that are left',
      }
    : {
        status: 'refused',
        code: 'BULK_UNPLANNED',
        reason: 'Its events are still being chosen, or the process that chose them has died',
        instead: 'Wait for admin.bulk.plan to return, or plan another one',
      }
}
