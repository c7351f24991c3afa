/**
 * Removes weekly partitions in which everything has ended, whole: nothing of them is read or deleted row by row.
 *
 * What must stay is moved to the default partition in the same transaction, so that no reader ever misses it. Each
 * week of each table is a transaction of its own. One that is killed leaves that week as it was.
 *
 * DETACH needs a lock that keeps every delivery out, for some milliseconds. `detach … concurrently` would not, but
 * PostgreSQL refuses it on a table with a default partition, and without one a delivery could find no partition to
 * go to (`docs/decisions/2026-11-partitions-leave-by-a-short-lock.md`). So it is only tried: after LOCK_MS it gives
 * up, and deliveries go on. What is left after several tries is deleted in batches.
 *
 * Only PostgreSQL: SQLite has no partitions.
 *
 * @module
 */

import { setTimeout as pause } from 'node:timers/promises'
import { lowestIdAt } from '../../../model/id-range.ts'
import type { PruneLimits, PruneStep } from '../../contract/retention.ts'
import type { Connection } from '../connection.ts'
import type { Connections } from '../connections.ts'
import type { Statement } from '../statement-batch.ts'
import { findStateBehind } from '../store-error.ts'
import type { TransactionSettings } from '../transaction.ts'
import { PARTITIONED, WEEK_MS } from './ensure-partitions.ts'
import { HAS_ENDED, hasNothingOpen } from './prune-payloads.ts'

/** How long deliveries may wait behind a try. */
const LOCK_MS = 100
const TRIES = 4
/** With more than so many to be moved the partition stays, and what has ended in it is deleted in batches. */
const SURVIVORS_MAX = 10_000
/** Looking through a week takes as long as it is large; nothing waits for it. */
const LOOK: TransactionSettings = {
  statementTimeoutMs: 600_000,
  lockTimeoutMs: LOCK_MS,
  // Or the next try would find the row of BEGIN locked by this one, and take it for another pruner's.
  waitsForRollback: true,
}

type Parent = (typeof PARTITIONED)[number]

const LIST = `
  select p.relname as parent, c.relname as name
    from pg_inherits i
    join pg_class p on p.oid = i.inhparent
    join pg_class c on c.oid = i.inhrelid
   where i.inhparent in ('{schema}.events'::regclass, '{schema}.requests'::regclass,
                         '{schema}.attempts'::regclass, '{schema}.outcomes'::regclass)
     and c.relname ~ ('^' || p.relname || '_[0-9]{8}$')
   order by c.relname`

interface Week {
  readonly parent: Parent
  readonly name: string
  readonly endMs: number
}

/** The tables in the order in which they follow each other: what a request or an attempt belongs to goes first. */
export async function dropPartitions(
  connections: Connections,
  limits: PruneLimits,
): Promise<PruneStep> {
  const { rows } = await connections.use((connection) => connection.query<'parent' | 'name'>(LIST))
  const weeks = rows.map(({ parent, name }) => asWeek(parent as Parent, name ?? ''))
  const removed: Record<string, number> = { partitions: 0 }
  for (const parent of PARTITIONED) {
    const before = findLimit(parent, limits)
    for (const week of weeks.filter((one) => one.parent === parent && one.endMs <= before)) {
      const dropped = await dropPatiently(connections, week, limits)
      if (dropped === 'busy') return { removed, next: undefined, isBusy: true }
      // The other weeks of the table need the same lock.
      if (dropped === 'locked') break
      if (dropped === 'kept') continue
      removed[parent] = (removed[parent] ?? 0) + dropped
      removed['partitions'] = (removed['partitions'] ?? 0) + 1
    }
  }
  return { removed, next: undefined, isBusy: false }
}

function asWeek(parent: Parent, name: string): Week {
  const day = name.slice(-8)
  const start = Date.parse(`${day.slice(0, 4)}-${day.slice(4, 6)}-${day.slice(6)}T00:00:00Z`)
  return { parent, name, endMs: start + WEEK_MS }
}

/** Weeks that end before this may be looked at. */
function findLimit(parent: Parent, { done, skipped, discarded, keys }: PruneLimits): number {
  return parent === 'outcomes' ? (keys ?? 0) : Math.max(done ?? 0, skipped ?? 0, discarded ?? 0)
}

/** How many rows went with it, or why it stays. */
type Dropped = number | 'busy' | 'locked' | 'kept'

async function dropPatiently(
  connections: Connections,
  week: Week,
  limits: PruneLimits,
): Promise<Dropped> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await connections.transact((connection) => dropWeek(connection, week, limits), LOOK)
    } catch (error) {
      const state = findStateBehind(error) ?? ''
      if (state !== LOCK_NOT_AVAILABLE && state !== NO_RIGHT) throw error
      if (state === NO_RIGHT || tries === TRIES) return 'locked'
    }
    // As long as it was in the way of others, and longer each time.
    await pause(LOCK_MS * 2 ** tries)
  }
}

const LOCK_NOT_AVAILABLE = '55P03'
/** A role that does not own the tables leaves them, and deletes in batches. */
const NO_RIGHT = '42501'

// Whether another pruner has it is asked apart: this lock is not worth waiting for.
const BEGIN = `
  select name
    from {schema}.meta
   where name = 'prune'
     for update skip locked`

/** What must stay of a partition, by its table. `limits` is a parameter. */
const SURVIVES: Readonly<Record<Parent, string>> = {
  events: `
       not (exists (select from {schema}.outcomes o where o.event_id = w.id and ${HAS_ENDED})
            and ${hasNothingOpen('w.id')})`,
  requests: `exists (select from {schema}.events e where e.request_id = w.id)`,
  attempts: `exists (select from {schema}.events e where e.id = w.event_id)`,
  // What a run of the keys has left here is still needed.
  outcomes: `true`,
}

const keyOf = (parent: Parent): string =>
  parent === 'events' || parent === 'requests' ? 'id' : 'event_id'

// $1 limits  $2 how many at most
const survivorsOf = ({ parent, name }: Week): string => `
  select distinct w.${keyOf(parent)} as id
    from {schema}.${name} w
   cross join (select $1::jsonb as limits) given
   where ${SURVIVES[parent]}
   limit $2`

// $1 survivors  $2 the least id of the week  $3 the least of the next
//
// Survivors are also the events to which something has happened since those were listed: one that was queued, or was run
// once more, or has died. All of them are found by an index, since receivers and workers wait meanwhile: to look through
// a week of 1,000,000 events instead took about 1 s, and this way 1 ms. No list takes an hour.
const moveListed = ({ parent, name }: Week): string => `
  insert into {schema}.${parent}
  select w.*
    from {schema}.${name} w
   where w.${keyOf(parent)} = any($1::uuid[] || array(
           select q.event_id
             from {schema}.queue q
            where q.event_id >= $2 and q.event_id < $3
            union all
           select r.event_id
             from {schema}.runs r
            where r.event_id >= $2 and r.event_id < $3
              and r.ordered_at > now() - interval '1 hour'
            union all
           select o.event_id
             from {schema}.outcomes o
            where o.event_id >= $2 and o.event_id < $3
              and o.state = 'dead' and o.settled_at > now() - interval '1 hour'))`

/** All that is there has survived, and so does the outcome of an event that has ended since. */
const moveAll = ({ parent, name }: Week): string => `
  insert into {schema}.${parent}
  select w.*
    from {schema}.${name} w`

function moveSurvivors(week: Week, survivors: string): Statement {
  const { parent, endMs } = week
  if (parent === 'outcomes') return { text: moveAll(week) }
  return {
    text: moveListed(week),
    values: [survivors, lowestIdAt(endMs - WEEK_MS), lowestIdAt(endMs)],
  }
}

async function dropWeek(connection: Connection, week: Week, limits: PruneLimits): Promise<Dropped> {
  const { parent, name } = week
  const { rows: locked } = await connection.query(BEGIN)
  if (locked.length === 0) return 'busy'
  const { rows } = await connection.query<'id'>(survivorsOf(week), [
    JSON.stringify(limits),
    SURVIVORS_MAX + 1,
  ])
  if (rows.length > SURVIVORS_MAX) return 'kept'
  const { rows: counted } = await connection.query<'found'>(
    `select count(*) as found from {schema}.${name}`,
  )
  const survivors = `{${rows.map(({ id }) => id).join()}}`
  // In one round trip: other transactions that wait for the lock do not wait for this process as well, which may be busy.
  const [, moved] = await connection.runTogether([
    { text: `alter table {schema}.${parent} detach partition {schema}.${name}` },
    moveSurvivors(week, survivors),
    { text: `drop table {schema}.${name}` },
  ])
  return Number(counted[0]?.found) - (moved?.rowCount ?? 0)
}
