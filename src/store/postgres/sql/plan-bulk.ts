import type { BulkAction, BulkId, BulkRecord, BulkState, BulkTerms } from '../../../model/bulk.ts'
import type { EventId } from '../../../model/event.ts'
import { highestId } from '../../../model/id-range.ts'
import type { BulkCreated, BulkDraft, BulkQuery } from '../../contract/bulks.ts'
import { withoutNul } from '../../shared/without-nul.ts'
import { plainArray } from '../binary-array.ts'
import type { Connection } from '../connection.ts'
import { addAudit, findSubject } from './audit.ts'

const PLAN = { action: 'bulk.plan', kind: 'bulk' } as const

// $1 id  $2 action  $3 filter  $4 reason  $5 actor  $6 terms
const CREATE = `
  insert into {schema}.bulks (id, action, filter, reason, actor, terms, state, created_at)
  values ($1, $2, $3, $4, $5, $6, 'planning', clock_timestamp())`

/** Inside a transaction of the caller. */
export async function createBulk(connection: Connection, draft: BulkDraft): Promise<BulkCreated> {
  const { id, action, filter, reason, actor, token, terms } = draft
  const known = await findSubject(connection, PLAN, token)
  if (known !== undefined) return 'id' in known ? { status: 'known', id: known.id } : known
  const asText = (text: string | undefined) => (text === undefined ? null : withoutNul(text))
  await connection.query(CREATE, [
    id,
    action,
    filter,
    asText(reason),
    asText(actor),
    terms === undefined ? null : JSON.stringify(terms),
  ])
  await addAudit(connection, { ...PLAN, id }, { reason, actor, token }, { status: 'done' })
  return { status: 'created', id }
}

// $1 bulk  $2 events
const ADD = `
  insert into {schema}.bulk_events (bulk_id, event_id)
  select id, event_id
    from {schema}.bulks, unnest($2::uuid[]) as chosen (event_id)
   where id = $1 and state = 'planning'
      on conflict do nothing`

export async function addBulkEvents(
  connection: Connection,
  id: BulkId,
  eventIds: readonly EventId[],
): Promise<void> {
  await connection.query(ADD, [id, plainArray(eventIds)])
}

// $1 bulk
const END_PLANNING = `
  update {schema}.bulks set state = 'planned' where id = $1 and state = 'planning'`

export async function endBulkPlanning(connection: Connection, id: BulkId): Promise<void> {
  await connection.query(END_PLANNING, [id])
}

const SELECT = `
  select b.id, b.action, b.filter, b.reason, b.actor, b.terms, b.state,
         (extract(epoch from b.created_at) * 1000)::bigint as created_at,
         (select json_object_agg(coalesce(outcome, 'left'), found)
            from (select outcome, count(*) as found
                    from {schema}.bulk_events
                   where bulk_id = b.id
                   group by 1) counted) as outcomes
    from {schema}.bulks b`

// $1 bulk
const FIND = `${SELECT}
   where b.id = $1 and b.state <> 'pruned'`

// $1 below this bulk  $2 limit
const LIST = `${SELECT}
   where b.state <> 'pruned'
     and b.id < $1
   order by b.id desc
   limit $2`

// $1 below this bulk  $2 limit
const LIST_UNFINISHED = `${SELECT}
   where b.state = 'planned'
     and exists (select from {schema}.bulk_events e where e.bulk_id = b.id and e.outcome is null)
     and b.id < $1
   order by b.id desc
   limit $2`

export async function findBulk(
  connection: Connection,
  bulkId: BulkId,
): Promise<BulkRecord | undefined> {
  const { rows } = await connection.query<BulkColumn>(FIND, [bulkId])
  return rows.map(recordOf)[0]
}

export async function listBulks(
  connection: Connection,
  { which, below = highestId, limit }: BulkQuery,
): Promise<readonly BulkRecord[]> {
  const text = which === 'all' ? LIST : LIST_UNFINISHED
  const { rows } = await connection.query<BulkColumn>(text, [below, limit])
  return rows.map(recordOf)
}

type BulkColumn =
  'id' | 'action' | 'filter' | 'reason' | 'actor' | 'terms' | 'state' | 'created_at' | 'outcomes'

function recordOf(row: Readonly<Record<BulkColumn, string | null>>): BulkRecord {
  const counted = JSON.parse(row.outcomes ?? '{}') as Record<string, number>
  const { done = 0, left = 0, ...refused } = counted
  return {
    id: row.id ?? '',
    action: row.action as BulkAction,
    state: row.state as BulkState,
    reason: row.reason ?? undefined,
    actor: row.actor ?? undefined,
    terms: termsOf(row.terms),
    filter: row.filter ?? '',
    createdAt: new Date(Number(row.created_at)),
    planned: Object.values(counted).reduce((sum, count) => sum + count, 0),
    done,
    refused,
    left,
  }
}

/** As they were planned. */
export function termsOf(terms: string | null | undefined): BulkTerms | undefined {
  return terms == null ? undefined : (JSON.parse(terms) as BulkTerms)
}

// $1 bulk  $2 limit
const LIST_EVENTS = `
  select event_id
    from {schema}.bulk_events
   where bulk_id = $1
   order by event_id desc
   limit $2`

export async function listBulkEvents(
  connection: Connection,
  id: BulkId,
  limit: number,
): Promise<readonly EventId[]> {
  const { rows } = await connection.query<'event_id'>(LIST_EVENTS, [id, limit])
  return rows.map(({ event_id }) => event_id ?? '')
}
