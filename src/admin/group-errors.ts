/**
 * What is wrong, by what it has in common: a thousand dead events are often two errors.
 *
 * @module
 */

import { OptionInvalidError } from '../errors.ts'
import type { EventId } from '../model/event.ts'
import { rejectUnknownKeys } from '../options/reject-unknown-keys.ts'
import { requireInteger } from '../options/require-integer.ts'
import { requireOneOf } from '../options/require-one-of.ts'
import type {
  EventSearchStore,
  FailurePosition,
  WalkedFailure,
} from '../store/contract/event-search.ts'
import { findErrorPattern } from './error-pattern.ts'
import { LIST_LIMIT, requireText } from './require-arguments.ts'

/** Which failures `admin.groups` looks at. */
export interface GroupQuery {
  /**
   * `dead`: events that stopped and wait for a person. `failed`: events that failed and wait for their next attempt.
   *
   * @defaultValue 'dead'
   */
  readonly state?: 'dead' | 'failed'
  /** Those that failed at this time or later. Left out: all of them. */
  readonly since?: Date
  /** The name of a source. Left out: any. */
  readonly source?: string
  /**
   * How many groups at most.
   *
   * @defaultValue 100
   */
  readonly limit?: number
}

/** Failures by what they have in common. */
export interface ErrorGroups {
  /** Most events first. */
  readonly groups: readonly ErrorGroup[]
  /** How many events were looked at: the latest 10,000 at most. */
  readonly lookedAt: number
  /** Whether these are all there are. Otherwise the counts are those of the events that were looked at. */
  readonly isComplete: boolean
}

/** Events that failed of the same: reason, handler, and message but for its values. */
export interface ErrorGroup {
  /** The same in every process, for as long as the message is. */
  readonly id: string
  readonly reason: string
  readonly handler: string | undefined
  /** The message, with `…` for numbers, ids and what is in quotes. */
  readonly message: string
  readonly count: number
  readonly sources: readonly string[]
  readonly firstSeenAt: Date
  readonly lastSeenAt: Date
  /** The latest of them, 5 at most. */
  readonly sample: readonly EventId[]
}

export type ResolvedGroupQuery = Required<Omit<GroupQuery, 'source'>> & {
  readonly source: string | undefined
}

export function resolveGroupQuery(query: GroupQuery): ResolvedGroupQuery {
  rejectUnknownKeys('admin.groups', query, ['state', 'since', 'source', 'limit'])
  const { state = 'dead', since = new Date(0), source, limit = LIST_LIMIT } = query
  requireOneOf('admin.groups.state', state, ['dead', 'failed'])
  if (!(since instanceof Date) || Number.isNaN(since.getTime()))
    throw new OptionInvalidError('admin.groups.since', 'a Date, or left out', since)
  if (source !== undefined)
    requireText('groups.source', source, 'the name of a source, or left out')
  requireInteger('admin.groups.limit', limit, { min: 1, max: 1_000 })
  return { state, since, source, limit }
}

/** How many events are looked at. */
const LOOKED_MAX = 10_000
/** In one statement. */
const LOOK = 500
const SAMPLE_MAX = 5

export async function groupErrors(
  search: EventSearchStore,
  { state, since, source, limit }: ResolvedGroupQuery,
): Promise<ErrorGroups> {
  const groups = new Map<string, ErrorGroup>()
  let lookedAt = 0
  let isComplete = false
  let after: FailurePosition | undefined
  while (lookedAt < LOOKED_MAX && !isComplete) {
    const failures = await search.walkFailures({ of: state, since, after, limit: LOOK })
    for (const failure of failures) {
      if (failure.failedAt < since || (source !== undefined && failure.source !== source)) continue
      addTo(groups, failure)
    }
    lookedAt += failures.length
    isComplete = failures.length < LOOK
    after = failures.at(-1)?.position
  }
  const sorted = [...groups.values()].sort((a, b) => b.count - a.count)
  return { groups: sorted.slice(0, limit), lookedAt, isComplete }
}

function addTo(groups: Map<string, ErrorGroup>, failure: WalkedFailure): void {
  const { reason, handler, failedAt, source } = failure
  const { groupId, pattern } = findErrorPattern(failure)
  const known = groups.get(groupId)
  const {
    sample = [],
    sources = [],
    count = 0,
    firstSeenAt = failedAt,
    lastSeenAt = failedAt,
  } = known ?? {}
  groups.set(groupId, {
    id: groupId,
    reason,
    handler,
    message: pattern,
    count: count + 1,
    sources: sources.includes(source) ? sources : [...sources, source],
    firstSeenAt: failedAt < firstSeenAt ? failedAt : firstSeenAt,
    lastSeenAt: failedAt > lastSeenAt ? failedAt : lastSeenAt,
    sample: sample.length < SAMPLE_MAX ? [...sample, failure.position.eventId] : sample,
  })
}
