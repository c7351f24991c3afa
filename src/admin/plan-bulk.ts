/**
 * Chooses what a bulk is done to.
 *
 * The plan keeps the events, or messages, that were chosen. What was counted is what is acted on, also where more have
 * come to fit the filter since.
 *
 * @module
 */

import { OptionInvalidError } from '../errors.ts'
import {
  BULK_ACTIONS,
  isMessageBulk,
  MESSAGE_BULK_ACTIONS,
  MESSAGE_BULK_STATES,
} from '../model/bulk.ts'
import type {
  BulkId,
  BulkRecord,
  BulkTerms,
  EventBulkAction,
  MessageBulkAction,
} from '../model/bulk.ts'
import { ACTION_RULES } from '../model/event-action.ts'
import type { EventState } from '../model/event-state.ts'
import type { EventSummary } from '../model/event-summary.ts'
import type { MessageRecord, MessageSummary } from '../model/message.ts'
import { rejectUnknownKeys } from '../options/reject-unknown-keys.ts'
import { requireOneOf } from '../options/require-one-of.ts'
import type { BulkDraft } from '../store/contract/bulks.ts'
import type { Ordered } from '../store/contract/operators.ts'
import type { Store } from '../store/contract/store.ts'
import { requireOrder, requireReason } from './action-options.ts'
import { resolveEventFilter } from './event-query.ts'
import type { EventFilter, ResolvedEventQuery } from './event-query.ts'
import { listEvents } from './list-events.ts'
import { walkMessageIds } from './list-messages.ts'
import { resolveMessageFilter } from './message-query.ts'
import type { MessageFilter } from './message-query.ts'

/** What is to be done, and to which events. */
export interface BulkPlan {
  /** What is done to each event. */
  readonly action: EventBulkAction
  /**
   * Which events. Without a state in it: `retry` is for those that are dead; `release` for conflicts and quarantined
   * ones; `discard` for those and for the dead and the unhandled; `replay` for those that have come to their end;
   * `forget` for those as well and for the dead, but for what is done.
   */
  readonly filter: EventFilter
  /** Why. Needed for everything but `retry`. Left out, the audit says nothing of it. */
  readonly reason?: string
  /** Who: a name, or an address. Left out, the audit says nothing of it. */
  readonly actor?: string
  /**
   * Stands for this one bulk: a call with it that is made again, after a double click or a lost answer, chooses nothing
   * anew and is told of the bulk that there is. Left out, every call makes a bulk of its own.
   */
  readonly token?: string
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

/** The same for messages. */
export interface MessageBulkPlan {
  /** What is done to each message: it is sent again under its own key, or never. */
  readonly action: MessageBulkAction
  /**
   * Which messages. Without a state in it those that are dead. `unknown` ones, which may have arrived, are chosen when
   * they are named, and for `discardMessage` `ready` ones as well.
   */
  readonly filter: MessageFilter
  /** Why. Needed for `discardMessage`. Left out, the audit says nothing of it. */
  readonly reason?: string
  /** Who: a name, or an address. Left out, the audit says nothing of it. */
  readonly actor?: string
  /** Stands for this one bulk, as of a bulk of events. Left out, every call makes a bulk of its own. */
  readonly token?: string
}

/** What was planned. */
export interface PlannedBulk {
  readonly id: BulkId
  /** How many events, or messages, were chosen. */
  readonly count: number
  /** Whether these are all that fit. Otherwise run this one, and plan again. */
  readonly isComplete: boolean
  /** Some of the events, newest first: 10 at most. */
  readonly sample: readonly EventSummary[]
  /** Some of the messages, newest first: 10 at most. */
  readonly messages: readonly MessageSummary[]
}

/** So many are chosen at most: a plan is a list that a person answers for. */
const CHOSEN_MAX = 100_000
const PAGE = 1_000
const SAMPLE_MAX = 10

/** A plan that was checked. */
export interface Planning {
  readonly draft: BulkDraft
  /** The ids of those that fit, page by page. */
  readonly choose: Choose
}

type Choose = (store: Store<unknown>) => AsyncIterable<readonly string[]>

export function resolveBulkPlan(id: BulkId, plan: BulkPlan | MessageBulkPlan): Planning {
  const actions = [...Object.keys(BULK_ACTIONS), ...Object.keys(MESSAGE_BULK_ACTIONS)]
  rejectUnknownKeys('admin.bulk.plan', plan, [...PLAN_NAMES, ...TERM_NAMES])
  requireOneOf('admin.bulk.plan.action', plan.action, actions)
  return isOfMessages(plan) ? resolveMessagePlan(id, plan) : resolvePlan(id, plan)
}

function isOfMessages(plan: BulkPlan | MessageBulkPlan): plan is MessageBulkPlan {
  return isMessageBulk(plan.action)
}

function resolveMessagePlan(id: BulkId, plan: MessageBulkPlan): Planning {
  const path = 'admin.bulk.plan'
  rejectUnknownKeys(path, plan, PLAN_NAMES)
  const { action, filter } = plan
  const order = requirePlanOrder(plan)
  const resolved = resolveMessageFilter('bulk.plan.filter', filter)
  const states = resolved.states ?? new Set(MESSAGE_BULK_ACTIONS[action])
  const possible = MESSAGE_BULK_STATES[action]
  for (const state of states)
    if (!possible.includes(state)) {
      const expected = `what ${action} is for: ${possible.join(', ')}`
      throw new OptionInvalidError(`${path}.filter.state`, expected, state)
    }
  const draft = { id, action, filter: JSON.stringify(filter), ...order, terms: undefined }
  return { draft, choose: ({ messages }) => walkMessageIds(messages, { ...resolved, states }) }
}

type ChosenEvents = Omit<ResolvedEventQuery, 'limit'>

function resolvePlan(id: BulkId, plan: BulkPlan): Planning {
  const path = 'admin.bulk.plan'
  rejectUnknownKeys(path, plan, [...PLAN_NAMES, ...TERM_NAMES])
  const { action, filter } = plan
  const order = requirePlanOrder(plan)
  const terms = requireTerms(path, plan)
  const resolved = resolveEventFilter('bulk.plan.filter', filter)
  const states = resolved.states ?? new Set(statesFor(action, terms))
  for (const state of states) requireStateFor(`${path}.filter.state`, state, action, terms)
  const draft = {
    id,
    action,
    filter: JSON.stringify(filter),
    ...order,
    terms,
  }
  return { draft, choose: (store) => chooseEvents(store, { ...resolved, states }) }
}

/** Who plans it, and why: needed for everything but to try again. */
function requirePlanOrder({ action, reason, actor, token }: BulkPlan | MessageBulkPlan): Ordered {
  const order = {
    ...(reason !== undefined && { reason }),
    ...(actor !== undefined && { actor }),
    ...(token !== undefined && { token }),
  }
  if (action !== 'retry' && action !== 'retryMessage') requireReason('bulk.plan', order)
  return requireOrder('bulk.plan', order)
}

const PLAN_NAMES = ['action', 'filter', 'reason', 'actor', 'token'] as const
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

function statesFor(action: EventBulkAction, terms: BulkTerms | undefined): readonly EventState[] {
  const states: readonly EventState[] = BULK_ACTIONS[action]
  return states.filter((state) => !isApplied(state, terms))
}

function requireStateFor(
  option: string,
  state: EventState,
  action: EventBulkAction,
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

export async function planBulk(
  store: Store<unknown>,
  draft: BulkDraft,
  choose: Choose,
): Promise<PlannedBulk> {
  const { bulks } = store
  const created = await bulks.create(draft)
  if (created.status === 'refused') throw tokenUsed(draft)
  const { id } = created
  if (created.status === 'known') {
    const known = await bulks.find(id)
    if (known?.action !== draft.action || known.filter !== draft.filter) throw tokenUsed(draft)
    // Its other call may be choosing still, or have died of it: this one then chooses with it.
    if (known.state !== 'planning') return describePlanned(store, known)
  }
  let count = 0
  let isComplete = true
  for await (const found of choose(store)) {
    const ids = found.slice(0, CHOSEN_MAX - count)
    if (ids.length > 0) await bulks.addEvents(id, ids)
    count += ids.length
    if (ids.length === found.length) continue
    isComplete = false
    break
  }
  await bulks.endPlanning(id)
  const kept = await bulks.find(id)
  if (kept === undefined) throw tokenUsed(draft)
  return { ...(await describePlanned(store, kept)), isComplete }
}

async function* chooseEvents(
  { search }: Store<unknown>,
  filter: ChosenEvents,
): AsyncGenerator<readonly string[], void> {
  let { below } = filter
  for (;;) {
    const page = await listEvents(search, { ...filter, below, limit: PAGE })
    yield page.events.map(({ id }) => id)
    if (page.cursor === undefined) return
    below = page.cursor
  }
}

async function describePlanned(
  { bulks, search, messages }: Store<unknown>,
  { id, action, planned: count }: BulkRecord,
): Promise<PlannedBulk> {
  const ids = await bulks.listEvents(id, SAMPLE_MAX)
  const isComplete = count < CHOSEN_MAX
  if (!isMessageBulk(action))
    return { id, count, isComplete, sample: await search.summarize(ids), messages: [] }
  const found = await messages.read(ids)
  return { id, count, isComplete, sample: [], messages: found.map(summarizeMessage) }
}

function summarizeMessage(message: MessageRecord): MessageSummary {
  const { id, destination, key, state, reason, attempts, eventId, createdAt } = message
  return { id, destination, key, state, reason, attempts, eventId, createdAt }
}

function tokenUsed({ token }: BulkDraft): OptionInvalidError {
  return new OptionInvalidError(
    'admin.bulk.plan.token',
    'one that stands for no other action, and for no other plan',
    token,
  )
}
