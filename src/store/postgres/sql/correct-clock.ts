/**
 * Puts right what would wait until a clock that was set back has caught up.
 *
 * The time is written down once a second (`keep-clock.ts`), so that it is known by how much the clock was set
 * back, also to a fleet that was down meanwhile. Everything that waits is moved by that much, and waits as long as
 * it would have: events for their next attempt or for what is missing in their lane, leases that their workers do not
 * know of, messages. Since when a call or a message is in doubt is moved as well, or a key would seem to be younger
 * than it is.
 *
 * Once for each time: the row with the time is locked, and has the new time afterwards.
 *
 * Transactions that are open meanwhile hold events that cannot be moved, and write messages that cannot be seen, by the
 * time of before. So it is noted that the clock was set back, and what they leave is moved as soon as they have ended.
 * What is left is told by the transaction that has written it (`xmin`): it is older than the one that moved the rest.
 *
 * @module
 */

import type { Connection } from '../connection.ts'
import type { TransactionSettings } from '../transaction.ts'

/** Clocks are set back by this much in ordinary keeping of time. */
export const TOLERANCE_MS = 1_000

/** A long queue is moved whole. */
export const CORRECT_CLOCK: TransactionSettings = {
  statementTimeoutMs: 60_000,
  lockTimeoutMs: 5_000,
}

/** How soon what is left is looked at again, and how rarely at most while an old transaction stays open. */
const AGAIN_MS_MIN = 1_000
const AGAIN_MS_MAX = 60_000

/** The transaction that moved what it could reach, and by how much. */
interface SetBack {
  readonly xid: string
  readonly backMs: number
}

interface SetBacks {
  readonly list: readonly SetBack[]
  /** When the last of them was seen, and when to look next, by the clock of then. */
  readonly atMs: number
  readonly nextMs: number
}

const LOCK = `
  select value
    from {schema}.meta
   where name = 'clock'
     for update skip locked`

// Once the lock is held: another process may have corrected it.
const LOOK = `
  select (extract(epoch from clock_timestamp()) * 1000)::bigint as now_ms,
         pg_current_xact_id()::text as xid,
         (select value from {schema}.meta where name = 'set_backs') as set_backs`

/** Whether what has this transaction's number is from before the clock was set back, and was not moved since. */
const isFromBefore = (xid: string): string =>
  `exists (select from set_back b where age(${xid}) > age(b.xid))`
/** By how much such a row is to be moved. */
const backOf = (row: string): string =>
  `(select sum(b.by) from set_back b where age(${row}.xmin) > age(b.xid))`

const SET_BACK = `
       set_back as materialized (
         select b.xid::xid8::xid as xid, b."backMs" * interval '1 millisecond' as by
           from jsonb_to_recordset($1::jsonb) as b (xid text, "backMs" float8)),
       clock as materialized (select clock_timestamp() as now)`

const LATE = `(q.parked is null or q.parked = 'waiting')
            and (q.run_at > (select now from clock) or q.lease_until > (select now from clock)
                 or q.wait_until > (select now from clock))
            and ${isFromBefore('q.xmin')}`

// $1 the times that it was set back, in JSON
//
// A message that is leased has its lease's end in `send_at`: one that was claimed since has it right.
const MOVE = `
  with ${SET_BACK},
       held as materialized (
         select q.event_id, q.run, ${backOf('q')} as back
           from {schema}.queue q
          where ${LATE}
            for update skip locked),
       events as (
         update {schema}.queue q
            set run_at = case when q.run_at > clock.now then q.run_at - held.back else q.run_at end,
                lease_until = case when q.lease_until > clock.now then q.lease_until - held.back
                                   else q.lease_until end,
                wait_until = case when q.wait_until > clock.now then q.wait_until - held.back
                                  else q.wait_until end
           from held, clock
          where q.event_id = held.event_id and q.run = held.run),
       calls as (
         update {schema}.steps s
            set started_at = s.started_at - ${backOf('s')}
           from {schema}.queue q
          where q.leasable and s.event_id = q.event_id and s.run = q.run and s.state = 'started'
            and ${isFromBefore('s.xmin')})
  update {schema}.message_queue q
     set send_at = case when q.send_at > clock.now and coalesce(q.claimed_at > clock.now, true)
                        then q.send_at - ${backOf('q')} else q.send_at end,
         claimed_at = case when q.claimed_at > clock.now then q.claimed_at - ${backOf('q')}
                           else q.claimed_at end,
         uncertain_since = q.uncertain_since - ${backOf('q')}
    from clock
   where (q.send_at > clock.now or q.uncertain_since is not null) and ${isFromBefore('q.xmin')}`

// $1 the times that it was set back, in JSON
//
// Transactions of other databases have numbers of the same row.
const IS_OPEN = `
  with ${SET_BACK}
  select exists (select
                   from (select a.backend_xid
                           from pg_stat_activity a
                           join pg_database d on d.oid = a.datid
                          where d.datname = current_database()
                          union all
                         select p.transaction
                           from pg_prepared_xacts p
                          where p.database = current_database()) as open (xid)
                  where open.xid is not null and ${isFromBefore('open.xid')}) as is_open`

// $1 the times that it was set back, in JSON
const IS_LEFT = `
  with ${SET_BACK}
  select exists (select from {schema}.queue q where ${LATE}) as is_left`

// $1 name  $2 value
const NOTE = `
  insert into {schema}.meta (name, value)
  values ($1, $2)
      on conflict (name) do update
     set value = excluded.value`

const FORGET = `
  delete from {schema}.meta
   where name = 'set_backs'`

/** By how much it was set back, in ms; 0 when another process is about to correct it. Runs inside a transaction of the caller. */
export async function correctClock(connection: Connection): Promise<number> {
  const last = await lockClock(connection)
  if (last === undefined) return 0
  const { nowMs, xid, setBacks } = await look(connection)
  const backMs = last - nowMs
  if (backMs <= TOLERANCE_MS) return 0
  const list = [...(setBacks?.list ?? []), { xid, backMs }]
  await connection.query(MOVE, [JSON.stringify(list)])
  await connection.query(NOTE, ['clock', String(nowMs)])
  await note(connection, { list, atMs: nowMs, nextMs: nowMs + AGAIN_MS_MIN })
  return backMs
}

/** Moves what the transactions have left that were open then. Runs inside a transaction of the caller. */
export async function correctRest(connection: Connection): Promise<void> {
  if ((await lockClock(connection)) === undefined) return
  const { nowMs, setBacks } = await look(connection)
  if (setBacks === undefined) return
  const { list, atMs } = setBacks
  const values = [JSON.stringify(list)]
  // Before it is looked what is left: one that ends in between may leave more.
  const { rows: open } = await connection.query<'is_open'>(IS_OPEN, values)
  await connection.query(MOVE, values)
  const { rows: left } = await connection.query<'is_left'>(IS_LEFT, values)
  if (open[0]?.is_open === 'f' && left[0]?.is_left === 'f') {
    await connection.query(FORGET)
    return
  }
  const waitMs = Math.min(Math.max(nowMs - atMs, AGAIN_MS_MIN), AGAIN_MS_MAX)
  await note(connection, { list, atMs, nextMs: nowMs + waitMs })
}

/** Whether it is time to move what is left, by what is noted. */
export function isRestDue(noted: string | null | undefined, nowMs: number): boolean {
  return noted != null && readSetBacks(noted).nextMs <= nowMs
}

/** The time that was written down last; `undefined` where another process is at it. */
async function lockClock(connection: Connection): Promise<number | undefined> {
  const { rows } = await connection.query<'value'>(LOCK)
  const value = rows[0]?.value
  return value == null ? undefined : Number(value)
}

async function look(connection: Connection) {
  const { rows } = await connection.query<'now_ms' | 'xid' | 'set_backs'>(LOOK)
  const [row] = rows
  const noted = row?.set_backs
  return {
    nowMs: Number(row?.now_ms),
    xid: String(row?.xid),
    setBacks: noted == null ? undefined : readSetBacks(noted),
  }
}

async function note(connection: Connection, setBacks: SetBacks): Promise<void> {
  await connection.query(NOTE, ['set_backs', JSON.stringify(setBacks)])
}

function readSetBacks(noted: string): SetBacks {
  return JSON.parse(noted) as SetBacks
}
