/**
 * Says how much is older than its retention, about: what was stored before the limit and is neither dead nor queued.
 * Asked of the ids, which begin with their time, so that it costs a walk over an index and no look at each event.
 *
 * @module
 */

import type { PruneLimits, PruneRun, PruneShare, PruneSurvey } from '../../contract/retention.ts'
import { DAY_MS, expectedShare } from '../../shared/expected-share.ts'
import { lowestIdAt } from '../../../model/id-range.ts'
import type { Connection } from '../connection.ts'

const NOW = "cast(unixepoch('subsec') * 1000 as integer)"
const READ = `
  select ${NOW} as now, (select value from {prefix}meta where name = 'prune') as last`

// 1 before event, in each of the three
const COUNT_EVENTS = `
  select (select count(*) from {prefix}events) as there,
         (select count(*) from {prefix}events where id < ?)
         - (select count(*) from {prefix}outcomes where state = 'dead' and event_id < ?)
         - (select count(*) from {prefix}queue where event_id < ?) as old`
const COUNT_KEYS = `
  select (select count(*) from {prefix}outcomes) as there,
         (select count(*) from {prefix}outcomes where event_id < ?)
         - (select count(*) from {prefix}outcomes where state = 'dead' and event_id < ?)
         - (select count(*) from {prefix}queue where event_id < ? and run > 0) as old`

/** The database's time, and what the last run has written down. */
export function findLastRun(connection: Connection): {
  readonly nowMs: number
  readonly last: PruneRun
} {
  const [row] = connection.all<{ now: number; last: string }>(READ)
  return { nowMs: row?.now ?? 0, last: JSON.parse(row?.last ?? '') as PruneRun }
}

export function surveyPrune(connection: Connection, limits: PruneLimits): PruneSurvey {
  const { nowMs, last } = findLastRun(connection)
  const { done, skipped, discarded, keys } = limits
  return {
    nowMs,
    limits,
    events: count(connection, COUNT_EVENTS, {
      nowMs,
      before: Math.max(done ?? 0, skipped ?? 0, discarded ?? 0),
    }),
    keys: count(connection, COUNT_KEYS, { nowMs, before: keys ?? 0 }),
    last,
  }
}

function count(
  connection: Connection,
  text: string,
  { nowMs, before }: { readonly nowMs: number; readonly before: number },
): PruneShare {
  const id = lowestIdAt(before)
  const [row] = connection.all<{ there: number; old: number }>(text, [id, id, id])
  return {
    there: row?.there ?? 0,
    old: Math.max(0, row?.old ?? 0),
    expected: expectedShare(nowMs, before, DAY_MS),
  }
}
