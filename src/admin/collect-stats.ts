/**
 * How things stand, put together from counts that each have a limit.
 *
 * @module
 */

import { EVENT_STATES, PARKED_STATES } from '../model/event-state.ts'
import type { EventState, ParkedState } from '../model/event-state.ts'
import { lowestIdAt } from '../model/id-range.ts'
import type { Count, Rate, SourceStats, Stats } from '../model/stats.ts'
import { rejectUnknownKeys } from '../options/reject-unknown-keys.ts'
import { requireOneOf } from '../options/require-one-of.ts'
import type { CountedPlace, StatsStore } from '../store/contract/stats.ts'
import type { PauseRecord } from '../store/contract/pauses.ts'
import type { Store } from '../store/contract/store.ts'
import { requireText } from './require-arguments.ts'

/** What `admin.stats` counts. */
export interface StatsQuery {
  /** The name of a source. Left out: all of them. Workers, messages and what is due are those of all sources. */
  readonly source?: string
  /**
   * The time that `rates` are of: the last hour by the minute, or the last day by the hour. With `none` there are no
   * rates, which are most of what `stats` costs.
   *
   * @defaultValue 'hour'
   */
  readonly over?: 'hour' | 'day' | 'none'
}

export interface ResolvedStatsQuery {
  readonly source: string | undefined
  readonly spanMs: number
  readonly spans: number
}

const SPANS = {
  hour: { spanMs: 60_000, spans: 60 },
  day: { spanMs: 3_600_000, spans: 24 },
  none: { spanMs: 60_000, spans: 0 },
} as const

export function resolveStatsQuery(query: StatsQuery): ResolvedStatsQuery {
  rejectUnknownKeys('admin.stats', query, ['source', 'over'])
  const { source, over = 'hour' } = query
  if (source !== undefined) requireText('stats.source', source, 'the name of a source, or left out')
  requireOneOf('admin.stats.over', over, Object.keys(SPANS))
  return { source, ...SPANS[over] }
}

/** Of each thing that would take long to count. */
const COUNTED_MAX = 10_000
/** Of the oldest, and of those that hold most back. */
const OPEN_SHOWN_MAX = 10

/** How things stand, and what stands still. */
export interface CollectedStats extends Stats {
  /** What is paused, by whom, why and since when. */
  readonly pauses: readonly PauseRecord[]
}

export async function collectStats(
  { stats, pauses }: Store<unknown>,
  query: ResolvedStatsQuery,
): Promise<CollectedStats> {
  const at = await stats.now()
  const { states, sources } = await countStates(stats, query.source)
  const { due, lookedAt, oldestDueAt } = await stats.countDue(COUNTED_MAX)
  return {
    at,
    states,
    sources,
    queue: { due: { count: due, isExact: lookedAt < COUNTED_MAX }, oldestDueAt },
    rates: await collectRates(stats, at, query),
    messages: await stats.countMessages(COUNTED_MAX),
    workers: await stats.listWorkers(),
    openTransactions: await stats.listOpenTransactions(OPEN_SHOWN_MAX),
    pauses: await pauses.list(),
  }
}

async function countStates(
  stats: StatsStore,
  source: string | undefined,
): Promise<Pick<Stats, 'states' | 'sources'>> {
  const states = {} as Record<EventState, Count>
  const sources = new Map<string, Partial<Record<EventState, number>>>()
  for (const state of EVENT_STATES) {
    const { bySource, lookedAt } = await stats.countPlace(placeOf(state), COUNTED_MAX)
    const wanted = bySource.filter((each) => source === undefined || each.source === source)
    for (const each of wanted)
      sources.set(each.source, { ...sources.get(each.source), [state]: each.count })
    const count = wanted.reduce((sum, each) => sum + each.count, 0)
    states[state] = { count, isExact: lookedAt < COUNTED_MAX }
  }
  return { states, sources: [...sources].map(asSourceStats).sort(byName) }
}

function placeOf(state: EventState): CountedPlace {
  if (state === 'ready' || state === 'running' || state === 'done') return state
  return isParked(state) ? { parked: state } : { settled: state }
}

function isParked(state: EventState): state is ParkedState {
  return (PARKED_STATES as readonly string[]).includes(state)
}

function asSourceStats([source, states]: readonly [string, SourceStats['states']]): SourceStats {
  return { source, states }
}

function byName(a: SourceStats, b: SourceStats): number {
  return a.source < b.source ? -1 : 1
}

async function collectRates(
  stats: StatsStore,
  now: Date,
  { source, spanMs, spans }: ResolvedStatsQuery,
): Promise<readonly Rate[]> {
  if (spans === 0) return []
  const end = Math.floor(now.getTime() / spanMs + 1) * spanMs
  const starts = Array.from({ length: spans }, (_, at) => end - (spans - at) * spanMs)
  const start = new Date(end - spans * spanMs)
  const from = lowestIdAt(start.getTime())
  const settled = await stats.countSettled({ from, source, start, spanMs, most: COUNTED_MAX })
  const rates: Rate[] = []
  // One statement for each span: on SQLite the event loop goes on between them.
  for (const [span, startMs] of starts.entries()) {
    const range = { from: lowestIdAt(startMs), below: lowestIdAt(startMs + spanMs) }
    const { bySource, lookedAt } = await stats.countReceived(range, source, COUNTED_MAX)
    const count = bySource.reduce((sum, each) => sum + each.count, 0)
    rates.push({
      from: new Date(startMs),
      received: { count, isExact: lookedAt < COUNTED_MAX },
      settled: Object.fromEntries(
        settled.filter((each) => each.span === span).map((each) => [each.state, each.count]),
      ),
    })
  }
  return rates
}
