/**
 * Locks due events, in a transaction of the caller. The row lock is the claim.
 *
 * - Through a materialized CTE with its own ORDER BY and LIMIT: as a subquery of `where id in (…)`,
 *   PostgreSQL may run it again for every row and lock them all (`test/store/postgres/claim.test.ts` tries
 *   to make it).
 * - `(select clock_timestamp())` is read once, and can be the end of an index range, which the bare
 *   volatile function cannot.
 * - From a low-water position on: while an old snapshot is held somewhere, the dead entries at the head
 *   of the index stay, and each claim would walk over all of them. Measured on PostgreSQL 15: 9.6 ms
 *   at 160,000 of them, under 1 ms from the position.
 * - Topic by topic, as the worker asks: the events of others are not walked over, however many wait.
 * - What another worker's record lists as running is left alone, even when no lock holds it: that
 *   worker may be dead, and the worker that finds out must count the crash first.
 *
 * @module
 */

import type { ClaimedEvent, ClaimedLane } from '../../contract/claimed-event.ts'
import type { ClaimRequest } from '../../contract/queue.ts'
import type { WorkerSlot } from '../../contract/workers.ts'
import type { DeliveryHeaders } from '../../../model/delivery.ts'
import { freshKeyHash } from '../../../model/digest.ts'
import { readHeaders } from '../../../model/sealed-headers.ts'
import type { Connection, TextRow } from '../connection.ts'
import { plainArray } from '../binary-array.ts'
import type { Statement } from '../statement-batch.ts'

// Each of them is the predicate of a partial index, word for word.
export const DUE = {
  fresh:
    'q.parked is null and q.attempts = 0 and q.crashes = 0 and not q.leasable and q.lane_id is null',
  head: 'q.parked is null and q.attempts = 0 and q.crashes = 0 and not q.leasable and q.lane_id is not null',
  again: 'q.parked is null and q.attempts > 0 and q.crashes = 0 and not q.leasable',
  suspect: 'q.parked is null and q.crashes > 0 and not q.leasable',
  leasable: 'q.parked is null and q.leasable and q.lease_token is null',
} as const

// What a worker had in hand when its lane was paused comes back as it was: when the worker dies, or its transaction
// ends with nothing written. No join, and asked of one row after the other: from a join the plan may begin elsewhere
// than at the index of the kind.
const LANE_GOES = `
            and (select true
                   from {schema}.lanes paused
                  where paused.lane_id = q.lane_id and paused.paused_at is not null
                  limit 1) is null`

/** What may be claimed or leased, of a queue row `q`. What is fresh has no lane. */
export const CLAIMABLE = {
  fresh: DUE.fresh,
  head: `${DUE.head}${LANE_GOES}`,
  again: `${DUE.again}${LANE_GOES}`,
  suspect: `${DUE.suspect}${LANE_GOES}`,
  leasable: `${DUE.leasable}${LANE_GOES}`,
} as const

/** Of bodies that one claim hands over; twice that on the wire, as hex. One event may have more, and comes alone. */
export const CLAIM_BYTES_MAX = 16 * 1024 * 1024

// A database of another encoding cannot hold every text, and one body would make every claim fail.
const KNOWS_UTF8 = `getdatabaseencoding() = 'UTF8'`

// Whole numbers of seconds' fractions through float8, which is exact here and not done digit by digit.
//
// `replay` is what an operator changed about the run, see `joinReplay`.
export const CLAIMED_COLUMNS = `
         e.source, encode(e.event_key, 'hex') as event_key, encode(e.key_hash, 'hex') as key_hash, e.type,
         case when replay.body is not null then encode(replay.body, 'hex')
              when e.is_text and ${KNOWS_UTF8} then convert_from(e.body, 'UTF8')
              else encode(e.body, 'hex') end as body,
         replay.body is null and e.is_text and ${KNOWS_UTF8} as is_text, e.headers,
         (date_part('epoch', e.received_at) * 1000)::bigint as received_at,
         (date_part('epoch', e.occurred_at) * 1000)::bigint as occurred_at,
         e.version, e.sequence, e.verified_by,
         coalesce(replay.fresh_keys, false) as has_fresh_keys, replay.body is not null as is_modified`

/** Nothing is looked up for the first run of an event, which nearly all of them are. */
export const joinReplay = (queued: string): string => `
    left join lateral (select r.fresh_keys, r.body
                         from {schema}.runs r
                        where ${queued}.run > 0 and r.event_id = ${queued}.event_id and r.run = ${queued}.run) replay
      on true`

// For a queue row `q` and its lane `l`.
export const LANE_COLUMNS = `
         l.lane_id, l.mode as lane_mode, l.key as lane_key, l.applied as lane_applied`

// The sizes are in the queue, so that bodies beyond the budget are never read. The order is that of the window:
// what is joined to it row by row changes nothing about it.
const claimTopic = ({ due, topic, most, lowWater, lane }: TopicClaim): string => `
  with c as materialized (
         select q.event_id, q.topic, q.run, q.run_at, q.attempts, q.crashes, q.bytes, q.lane_id, q.place
           from {schema}.queue q
          where ${due}
            and q.topic = ${topic}
            and q.run_at <= (select clock_timestamp())
            and q.run_at >= ${lowWater}
            and (q.event_id, q.attempts + 1) not in (
                select r.event_id, r.attempt
                  from {schema}.workers w, unnest(w.running, w.running_attempts) as r (event_id, attempt)
                 where (w.worker_id, w.slot) <> (worker, which))
          order by q.run_at, q.event_id
          limit ${most}
            for update skip locked),
       counted as (
         select c.*, sum(c.bytes) over so_far as total, row_number() over so_far as ordinal
           from c
         window so_far as (order by c.run_at, c.event_id rows unbounded preceding))
  select c.event_id, c.topic, c.run, c.attempts, c.crashes,
         (date_part('epoch', c.run_at) * 1000000)::bigint as run_at,
         ${CLAIMED_COLUMNS},
         c.place,${lane.columns}
    from counted c
   cross join lateral (select * from {schema}.events where id = c.event_id limit 1) e${joinReplay('c')}${lane.join}
   where c.total <= bytes_max or c.ordinal = 1`

interface TopicClaim {
  readonly due: string
  readonly topic: string
  readonly most: string
  readonly lowWater: string
  readonly lane: { readonly columns: string; readonly join: string }
}

/** What is fresh has no lane, and pays nothing for the look. */
const NO_LANE = { columns: ' null::uuid, null::text, null::text, null::text', join: '' }
const WITH_LANE = {
  columns: LANE_COLUMNS,
  join: `
    left join {schema}.lanes l on l.lane_id = c.lane_id`,
}

export const CLAIMED = `
  event_id uuid, topic bigint, run integer, attempts smallint, crashes smallint, run_at bigint, source text,
  event_key text, key_hash text, type text, body text, is_text boolean, headers text, received_at bigint,
  occurred_at bigint, version text, sequence text, verified_by text, has_fresh_keys boolean, is_modified boolean,
  place text, lane_id uuid, lane_mode text, lane_key text, lane_applied text`

// From the topics in their order, each up to its own limit, until there are enough.
const createClaim = (kind: ClaimRequest['kind']): string => `
create or replace function {schema}.claim_${kind}(
  worker text, which integer, topics bigint[], limits integer[], low_waters timestamptz[], enough integer,
  bytes_max bigint)
returns table (${CLAIMED})
language plpgsql set enable_seqscan = off set enable_bitmapscan = off set jit = off as $claim$
#variable_conflict use_column
declare
  taken integer := 0;
  added integer;
begin
  for i in 1 .. cardinality(topics) loop
    return query${claimTopic({
      due: CLAIMABLE[kind],
      topic: 'topics[i]',
      most: 'limits[i]',
      lowWater: 'low_waters[i]',
      lane: kind === 'fresh' ? NO_LANE : WITH_LANE,
    })};
    get diagnostics added = row_count;
    taken := taken + added;
    exit when taken >= enough;
  end loop;
end
$claim$;`

export const CREATE_CLAIMS = (['fresh', 'head', 'again', 'suspect'] as const).map(createClaim)

// $1 worker  $2 slot  $3 topics  $4 limits  $5 low-water positions  $6 how many are enough  $7 bytes
const claim = (kind: string): string => `
  select event_id, topic, run, attempts, crashes, run_at, source, event_key, key_hash, type, body, is_text,
         headers, received_at, occurred_at, version, sequence, verified_by, has_fresh_keys, is_modified, place, lane_id,
         lane_mode, lane_key, lane_applied
    from {schema}.claim_${kind}($1, $2, $3, $4, $5, $6, $7)`

// $8 lock number
//
// Only one suspect runs in the whole fleet. The lock goes with the transaction; without it nothing is claimed.
const CLAIM_SUSPECT = `
  with locked as materialized (select pg_try_advisory_xact_lock($8::bigint) as is_mine)
  select claimed.* from locked cross join lateral (${claim('suspect')}) claimed
   where locked.is_mine`

const CLAIM = {
  fresh: claim('fresh'),
  head: claim('head'),
  again: claim('again'),
  suspect: CLAIM_SUSPECT,
}

// Any fence of this worker that no transaction holds will do, and a new one is made when none is free:
// one that a lost connection still holds in the database must not stop the slot. An insert that
// could conflict is avoided for the same reason, since it would wait for that connection.
export const CREATE_OPEN_FENCE = `
create or replace function {schema}.open_fence(worker text, fresh_slot integer, idle_timeout text, lock_wait text)
returns table (pid integer, xid xid8)
language plpgsql as $open_fence$
declare
  free integer;
begin
  select g.slot into free
    from {schema}.commit_fences g
   where g.worker_id = worker
   limit 1
     for update skip locked;
  if found then
    update {schema}.commit_fences g set uses = g.uses + 1 where g.worker_id = worker and g.slot = free;
  else
    insert into {schema}.commit_fences (worker_id, slot, uses) values (worker, fresh_slot, 1);
  end if;
  perform set_config('idle_in_transaction_session_timeout', idle_timeout, true),
          set_config('lock_timeout', lock_wait, true);
  return query select pg_backend_pid(), pg_current_xact_id();
end
$open_fence$;`

// $1 worker  $2 number for a new row  $3 idle timeout in ms  $4 lock timeout in ms
const OPEN_FENCE = `
  select pid, xid from {schema}.open_fence($1, $2, $3, $4)`

/** An event, and when it was due, in microseconds since 1970. */
export interface Claimed {
  readonly event: ClaimedEvent
  readonly runAt: number
}

export function claimDue(
  { slot, kind, topics, enough }: Pick<ClaimRequest, 'slot' | 'kind' | 'topics' | 'enough'>,
  {
    lowWaters,
    suspectLock,
  }: {
    /** For each topic, in microseconds since 1970. */
    readonly lowWaters: readonly (number | undefined)[]
    readonly suspectLock: string
  },
): Statement {
  const values = [
    slot.workerId,
    slot.slot,
    plainArray(topics.map(({ topic }) => topic)),
    // What failed or crashed before runs alone, so that it can take nothing else down.
    plainArray(topics.map(({ limit }) => (isGrouped(kind) ? limit : 1))),
    plainArray(lowWaters.map((at) => (at === undefined ? '-infinity' : timestampOf(at)))),
    isGrouped(kind) ? enough : 1,
    CLAIM_BYTES_MAX,
    ...(kind === 'suspect' ? [suspectLock] : []),
  ]
  return { text: CLAIM[kind], values }
}

function isGrouped(kind: ClaimRequest['kind']): boolean {
  return kind === 'fresh' || kind === 'head'
}

/** What `claimDue` was answered. */
export function readClaimed(
  { topics }: Pick<ClaimRequest, 'topics'>,
  rows: readonly TextRow[],
): readonly Claimed[] {
  const most = topics.reduce((sum, { limit }) => sum + limit, 0)
  if (rows.length > most)
    throw new Error(`Claimed ${rows.length} events where ${most} were asked for`)
  return rows.map((row) => ({ event: asClaimedEvent(row), runAt: Number(row['run_at']) }))
}

/** Makes every COMMIT but ours fail, and learns what the transaction is called. */
export async function openFence(
  connection: Connection,
  { workerId }: WorkerSlot,
  { idleTimeoutMs, lockTimeoutMs }: { idleTimeoutMs: number; lockTimeoutMs: number },
): Promise<{ pid: number; xid: string }> {
  const { rows } = await connection.query<'pid' | 'xid'>(OPEN_FENCE, [
    workerId,
    Math.floor(Math.random() * 2 ** 31),
    String(idleTimeoutMs),
    String(lockTimeoutMs),
  ])
  return { pid: Number(rows[0]?.pid), xid: String(rows[0]?.xid) }
}

/** With the microseconds that a date does not have. */
export function timestampOf(micros: number): string {
  const seconds = Math.floor(micros / 1e6)
  const fraction = String(micros - seconds * 1e6).padStart(6, '0')
  return `${new Date(seconds * 1e3).toISOString().slice(0, 19)}.${fraction}Z`
}

export function asClaimedEvent(row: TextRow): ClaimedEvent {
  const isText = row['is_text'] === 't'
  const body = row['body'] ?? ''
  const run = Number(row['run'])
  const keyHash = row['key_hash'] ?? ''
  return {
    eventId: row['event_id'] ?? '',
    run,
    attempt: Number(row['attempts']) + 1,
    crashes: Number(row['crashes']),
    source: row['source'] ?? '',
    key: Buffer.from(row['event_key'] ?? '', 'hex').toString(),
    keyHash: row['has_fresh_keys'] === 't' ? freshKeyHash(keyHash, run) : keyHash,
    type: row['type'] ?? '',
    topic: Number(row['topic']),
    body: isText ? { text: body } : { bytes: Buffer.from(body, 'hex') },
    headers: readHeaders<DeliveryHeaders>(row['headers']),
    receivedAt: new Date(Number(row['received_at'])),
    occurredAt: row['occurred_at'] == null ? undefined : new Date(Number(row['occurred_at'])),
    version: row['version'] ?? undefined,
    sequence: row['sequence'] ?? undefined,
    verifiedBy: row['verified_by'] ?? '',
    isModified: row['is_modified'] === 't',
    lane: findLane(row),
  }
}

function findLane(row: TextRow): ClaimedLane | undefined {
  if (row['lane_id'] == null) return undefined
  const mode = row['lane_mode'] as ClaimedLane['mode']
  return {
    id: row['lane_id'],
    mode,
    key: row['lane_key'] ?? '',
    version: mode === 'latest' ? (row['place'] ?? undefined) : undefined,
    applied: row['lane_applied'] ?? undefined,
    isBehind: false,
  }
}
