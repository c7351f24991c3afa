import type { BulkAction, BulkId, BulkRecord, BulkState, BulkTerms } from '../../../model/bulk.ts'
import type { EventId } from '../../../model/event.ts'
import { highestId } from '../../../model/id-range.ts'
import type { BulkCreated, BulkDraft, BulkQuery } from '../../contract/bulks.ts'
import type { Connection } from '../connection.ts'
import { addAudit, findSubject } from './audit.ts'

const PLAN = { action: 'bulk.plan', kind: 'bulk' } as const

// 1 id  2 action  3 filter  4 reason  5 actor  6 terms
const CREATE = `
  insert into {prefix}bulks (id, action, filter, reason, actor, terms, state, created_at)
  values (?, ?, ?, ?, ?, ?, 'planning', cast(unixepoch('subsec') * 1000 as integer))`

/** Inside a write transaction. */
export function createBulk(connection: Connection, draft: BulkDraft): BulkCreated {
  const { id, action, filter, reason, actor, token, terms } = draft
  const known = findSubject(connection, PLAN, token)
  if (known !== undefined) return 'id' in known ? { status: 'known', id: known.id } : known
  // libsql cuts a text at a NUL when it reads one.
  const asText = (text: string | undefined) => text?.replaceAll('\0', '\ufffd') ?? null
  const how = terms === undefined ? null : JSON.stringify(terms)
  connection.run(CREATE, [id, action, filter, asText(reason), asText(actor), how])
  addAudit(connection, { ...PLAN, id }, { reason, actor, token }, { status: 'done' })
  return { status: 'created', id }
}

// 1 events as JSON  2 bulk
const ADD = `
  insert into {prefix}bulk_events (bulk_id, event_id)
  select b.id, chosen.value
    from {prefix}bulks b, json_each(?1) chosen
   where b.id = ?2 and b.state = 'planning'
      on conflict do nothing`

export function addBulkEvents(
  connection: Connection,
  id: BulkId,
  eventIds: readonly EventId[],
): void {
  connection.run(ADD, [JSON.stringify(eventIds), id])
}

// 1 bulk
const END_PLANNING = `
  update {prefix}bulks set state = 'planned' where id = ? and state = 'planning'`

export function endBulkPlanning(connection: Connection, id: BulkId): void {
  connection.run(END_PLANNING, [id])
}

// 1 bulk
const FIND = `
  select id, action, filter, reason, actor, terms, state, created_at
    from {prefix}bulks
   where id = ? and state <> 'pruned'`

// 1 bulk
const COUNT = `
  select coalesce(outcome, 'left') as outcome, count(*) as found
    from {prefix}bulk_events
   where bulk_id = ?
   group by 1`

export function findBulk(connection: Connection, bulkId: BulkId): BulkRecord | undefined {
  const [row] = connection.all<BulkRow>(FIND, [bulkId])
  return row === undefined ? undefined : recordOf(connection, row)
}

// 1 limit
const LIST = `
  select id, action, filter, reason, actor, terms, state, created_at
    from {prefix}bulks
   where state <> 'pruned'
     and id < ?
   order by id desc
   limit ?`

// 1 below this bulk  2 limit
const LIST_UNFINISHED = `
  select id, action, filter, reason, actor, terms, state, created_at
    from {prefix}bulks b
   where state = 'planned'
     and exists (select 1 from {prefix}bulk_events e where e.bulk_id = b.id and e.outcome is null)
     and id < ?
   order by id desc
   limit ?`

export function listBulks(
  connection: Connection,
  { which, below = highestId, limit }: BulkQuery,
): readonly BulkRecord[] {
  return connection
    .all<BulkRow>(which === 'all' ? LIST : LIST_UNFINISHED, [below, limit])
    .map((row) => recordOf(connection, row))
}

function recordOf(connection: Connection, row: BulkRow): BulkRecord {
  const counts = connection.all<{ outcome: string; found: number }>(COUNT, [row.id])
  const counted = Object.fromEntries(counts.map(({ outcome, found }) => [outcome, found]))
  const { done = 0, left = 0, ...refused } = counted
  return {
    id: row.id,
    action: row.action,
    state: row.state,
    reason: row.reason ?? undefined,
    actor: row.actor ?? undefined,
    terms: termsOf(row.terms),
    filter: row.filter,
    createdAt: new Date(row.created_at),
    planned: counts.reduce((sum, { found }) => sum + found, 0),
    done,
    refused,
    left,
  }
}

type BulkRow = {
  id: string
  action: BulkAction
  filter: string
  reason: string | null
  actor: string | null
  terms: string | null
  state: BulkState
  created_at: number
}

/** As they were planned. */
export function termsOf(terms: string | null): BulkTerms | undefined {
  return terms === null ? undefined : (JSON.parse(terms) as BulkTerms)
}

// 1 bulk  2 limit
const LIST_EVENTS = `
  select event_id
    from {prefix}bulk_events
   where bulk_id = ?
   order by event_id desc
   limit ?`

export function listBulkEvents(
  connection: Connection,
  id: BulkId,
  limit: number,
): readonly EventId[] {
  return connection
    .all<{ event_id: string }>(LIST_EVENTS, [id, limit])
    .map(({ event_id }) => event_id)
}
