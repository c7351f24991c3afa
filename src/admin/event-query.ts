/**
 * What events an operator asks for, and how that is checked.
 *
 * @module
 */

import { OptionInvalidError } from '../errors.ts'
import { findJsonPath } from '../body/json-path.ts'
import type { JsonPath } from '../body/json-tokens.ts'
import { EVENT_STATES } from '../model/event-state.ts'
import type { EventState } from '../model/event-state.ts'
import type { EventId } from '../model/event.ts'
import { highestId, isUuid, lowestIdAt, lowestId } from '../model/id-range.ts'
import { rejectUnknownKeys } from '../options/reject-unknown-keys.ts'
import { requireInteger } from '../options/require-integer.ts'
import { requireOneOf } from '../options/require-one-of.ts'
import { requireLane } from './pause-target.ts'
import type { LaneName } from './pause-target.ts'
import { LIST_LIMIT, requireDate, requireText } from './require-arguments.ts'

/** Which events are meant. All of what is given must hold; without any of it, every event is. */
export interface EventFilter {
  /** One state, or several. Left out: any. */
  readonly state?: EventState | readonly EventState[]
  /** The name of a source. Left out: any. */
  readonly source?: string
  /** The type, whole. Left out: any. */
  readonly type?: string
  /** The sender's key. Left out: any. */
  readonly key?: string
  /**
   * Stands somewhere in what its failed attempts say, or in the reason of its state. Big and small ASCII letters are
   * one. Left out: any.
   */
  readonly text?: string
  /** At least so many attempts in its latest run. Left out: any number. */
  readonly attempts?: number
  /**
   * In this lane: events that have not come to rest, and the dead ones that hold it up. An event that has come to rest
   * otherwise has left its lane. Not together with `key`. Left out: in any, or in none.
   */
  readonly lane?: LaneName
  /** A value in its payload. Left out: any payload. */
  readonly where?: PayloadCondition
  /** Stored before this time, by the database's clock. Left out: up to now. */
  readonly before?: Date
  /** Stored at this time or later, by the database's clock. Left out: from the first. */
  readonly after?: Date
}

/** A value in a payload, by where it stands. */
export interface PayloadCondition {
  /** Such as `$.data.customer` or `$.items[0].id`. */
  readonly path: string
  /** What stands there. A text also finds a number that is written so: it is not rounded. */
  readonly equals: string | number | boolean | null
}

/** What `admin.list` is asked. */
export interface EventQuery extends EventFilter {
  /** That of the page before. Left out: from the newest. */
  readonly cursor?: string
  /**
   * How many events a page has at most, up to 1,000.
   *
   * @defaultValue 100
   */
  readonly limit?: number
}

/** The same, checked and whole. */
export interface ResolvedEventQuery {
  readonly states: ReadonlySet<EventState> | undefined
  readonly source: string | undefined
  readonly type: string | undefined
  readonly key: string | undefined
  readonly text: string | undefined
  readonly attempts: number
  readonly lane: LaneName | undefined
  readonly where:
    { readonly path: JsonPath; readonly equals: PayloadCondition['equals'] } | undefined
  /** Ids below this one, and from the other one on. */
  readonly below: EventId
  readonly from: EventId
  readonly limit: number
}

const FILTER_KEYS = [
  'state',
  'source',
  'type',
  'key',
  'text',
  'attempts',
  'lane',
  'where',
  'before',
  'after',
] as const
const PAGE_MAX = 1_000

export function resolveEventQuery(path: string, query: EventQuery): ResolvedEventQuery {
  rejectUnknownKeys(`admin.${path}`, query, [...FILTER_KEYS, 'cursor', 'limit'])
  const { cursor, limit = LIST_LIMIT, ...filter } = query
  requireInteger(`admin.${path}.limit`, limit, { min: 1, max: PAGE_MAX })
  if (cursor !== undefined && !isUuid(cursor))
    throw new OptionInvalidError(`admin.${path}.cursor`, 'the cursor of a page before', cursor)
  const resolved = resolveEventFilter(path, filter)
  const below = cursor === undefined || cursor > resolved.below ? resolved.below : cursor
  return { ...resolved, below, limit }
}

export function resolveEventFilter(
  path: string,
  filter: EventFilter,
): Omit<ResolvedEventQuery, 'limit'> {
  rejectUnknownKeys(`admin.${path}`, filter, FILTER_KEYS)
  const { state, source, type, key, text, attempts = 0, lane, where, before, after } = filter
  for (const [name, value] of Object.entries({ source, type, key, text }))
    if (value !== undefined) requireText(`${path}.${name}`, value, 'a text, or left out')
  requireInteger(`admin.${path}.attempts`, attempts, { min: 0 })
  if (lane !== undefined && key !== undefined)
    throw new OptionInvalidError(`admin.${path}.lane`, 'left out beside key', lane)
  return {
    states: state === undefined ? undefined : requireStates(`admin.${path}.state`, state),
    source,
    type,
    key,
    // Everything has an empty text somewhere.
    text: text === '' ? undefined : text,
    attempts,
    lane: lane && requireLane(`admin.${path}.lane`, lane),
    where: where && requireCondition(`admin.${path}.where`, where),
    below: before === undefined ? highestId : lowestIdAt(requireDate(path, 'before', before)),
    from: after === undefined ? lowestId : lowestIdAt(requireDate(path, 'after', after)),
  }
}

function requireStates(
  option: string,
  state: EventState | readonly EventState[],
): ReadonlySet<EventState> {
  const states: readonly EventState[] = Array.isArray(state) ? state : [state as EventState]
  if (states.length === 0) throw new OptionInvalidError(option, 'at least one state', state)
  for (const each of states) requireOneOf(option, each, EVENT_STATES)
  return new Set(states)
}

function requireCondition(
  option: string,
  condition: PayloadCondition,
): NonNullable<ResolvedEventQuery['where']> {
  rejectUnknownKeys(option, condition, ['path', 'equals'])
  const { path, equals } = condition
  const steps = typeof path === 'string' ? findJsonPath(path) : undefined
  if (steps === undefined)
    throw new OptionInvalidError(`${option}.path`, "a path such as '$.data.customer'", path)
  if (equals !== null && !['string', 'number', 'boolean'].includes(typeof equals))
    throw new OptionInvalidError(
      `${option}.equals`,
      'a text, a number, true, false or null',
      equals,
    )
  return { path: steps, equals }
}
