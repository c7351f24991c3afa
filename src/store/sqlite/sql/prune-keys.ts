/**
 * Removes the keys of events that ended long enough ago, and how they ended where their payload is gone as well.
 *
 * All keys of an event go in one transaction, with a new epoch, so that no process goes on answering from its memory,
 * and with the time before which keys are no longer known: a later delivery of an event from before that time is kept
 * for a person, since it may have run.
 *
 * @module
 */

import type { PruneStep } from '../../contract/retention.ts'
import { lowestId, lowestIdAt } from '../../../model/id-range.ts'
import type { Connection } from '../connection.ts'
import { hasNothingOpen } from './prune-payloads.ts'
import type { PruneRequest } from './prune-payloads.ts'

// 1 ended before  2 after event  3 before event  4 limit
const PAGE = `
  select o.event_id,
         o.settled_at < ? and o.state <> 'dead' and ${hasNothingOpen('o.event_id')} as goes
    from {prefix}outcomes o
   where o.event_id > ? and o.event_id < ?
     and o.run = (select max(l.run) from {prefix}outcomes l where l.event_id = o.event_id)
   order by o.event_id
   limit ?`

// 1 events, as JSON
const DELETE_KEYS = `
  delete from {prefix}keys where event_id in (select value from json_each(?))`
const DELETE_OUTCOMES = `
  delete from {prefix}outcomes
   where event_id in (select value from json_each(?))
     and not exists (select 1 from {prefix}events e where e.id = {prefix}outcomes.event_id)`

const BUMP_EPOCH = `
  update {prefix}meta
     set value = lower(hex(randomblob(16)))
   where name = 'epoch'`

// 1 time in ms
const NOTE_FORGOTTEN = `
  insert into {prefix}meta (name, value)
  values ('forgotten_before', cast(cast(? as integer) as text))
      on conflict (name) do update
     set value = excluded.value
   where cast({prefix}meta.value as integer) < cast(excluded.value as integer)`

/** Inside a write transaction. */
export function pruneKeys(
  connection: Connection,
  { limits, after, most }: PruneRequest,
): PruneStep {
  const page = connection.all<{ event_id: string; goes: number }>(PAGE, [
    limits.keys,
    after ?? lowestId,
    lowestIdAt(limits.keys ?? 0),
    most,
  ])
  const ids = JSON.stringify(page.filter(({ goes }) => goes === 1).map(({ event_id }) => event_id))
  const keys = connection.run(DELETE_KEYS, [ids])
  if (keys > 0) {
    connection.run(BUMP_EPOCH)
    connection.run(NOTE_FORGOTTEN, [limits.keys])
  }
  return {
    removed: { keys, outcomes: connection.run(DELETE_OUTCOMES, [ids]) },
    next: page.length < most ? undefined : page.at(-1)?.event_id,
    isBusy: false,
  }
}
