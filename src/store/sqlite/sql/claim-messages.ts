/**
 * Takes due messages under a lease, some of each destination that has room. There is one writer at a
 * time, so that what was selected cannot be taken by another before it is updated.
 *
 * A relay that claims what was leased to another takes over from a relay that is gone, frozen or cut off.
 * That one may have sent the message, so it is uncertain from when it was claimed. What ended with its relay is counted
 * apart.
 *
 * @module
 */

import type { ClaimedMessage } from '../../contract/messages.ts'
import type { LoopBreaks } from '../../../flow/loop-breaks.ts'
import { readHeaders } from '../../../model/sealed-headers.ts'
import type { Connection } from '../connection.ts'
import { waitsInLane } from './message-lanes.ts'
import type { LanePlace } from './message-lanes.ts'

// 1 destination
const HAS_DUE = `
  select 1 as found
    from {prefix}message_queue
   where destination = ?1
     and send_at <= cast(unixepoch('subsec') * 1000 as integer)
     and not exists (select 1 from {prefix}pauses where kind = 'destination' and name = ?1)
   limit 1`

// 1 destination  2 limit
const LIST_DUE = `
  select q.message_id, m.key, m.event_id, m.content_type, m.headers, m.body, m.created_at, q.attempts,
         q.answer, q.same_answers, q.lane_id, q.lane_position, q.lease_token
    from {prefix}message_queue q
    join {prefix}messages m on m.id = q.message_id
   where q.destination = ?1
     and q.send_at <= cast(unixepoch('subsec') * 1000 as integer)
     and not exists (select 1 from {prefix}pauses where kind = 'destination' and name = ?1)
   order by q.send_at, q.message_id
   limit ?2`

// 1 how many
const TAKE_TOKENS = `
  update {prefix}meta
     set value = cast(value as integer) + ?
   where name = 'message_lease_token'
  returning cast(value as integer) as last`

// 1 token  2 lease in ms  3 message
const LEASE = `
  update {prefix}message_queue
     set uncertain_since = case when lease_token is null then uncertain_since
                                else coalesce(uncertain_since, claimed_at) end,
         lease_token = ?,
         claimed_at = cast(unixepoch('subsec') * 1000 as integer),
         send_at = cast(unixepoch('subsec') * 1000 as integer) + ?,
         attempts = attempts + 1,
         takeovers = takeovers + (lease_token is not null)
   where message_id = ?
  returning takeovers, claimed_at - uncertain_since as uncertain_for_ms`

export interface MessageClaim {
  readonly wanted: readonly { readonly destination: string; readonly limit: number }[]
  readonly leaseMs: number
}

/** Whether a claim would find anything, asked without the write lock. */
export function hasDueMessages(connection: Connection, { wanted }: MessageClaim): boolean {
  return wanted.some(({ destination }) => connection.all(HAS_DUE, [destination]).length > 0)
}

export async function claimMessages(
  connection: Connection,
  breaks: LoopBreaks,
  { wanted, leaseMs }: MessageClaim,
): Promise<readonly ClaimedMessage[]> {
  const due = wanted.flatMap(({ destination, limit }) =>
    listClaimable(connection, destination, limit).map((row) => ({ destination, row })),
  )
  if (due.length === 0) return []
  const [tokens] = connection.all<{ last: number }>(TAKE_TOKENS, [due.length])
  const first = (tokens?.last ?? 0) - due.length + 1
  return breaks.each(due, ({ destination, row }, index) => {
    const token = first + index
    const [leased] = connection.all<LeasedRow>(LEASE, [token, leaseMs, row.message_id])
    return asClaimedMessage(destination, row, token, leased)
  })
}

/** Those that wait in their lanes are met once. A few looks, since the first of them may all be such. */
function listClaimable(
  connection: Connection,
  destination: string,
  limit: number,
): readonly DueRow[] {
  for (let look = 0; look < LOOKS; look += 1) {
    const due = connection.all<DueRow>(LIST_DUE, [destination, limit])
    const claimable = due.filter((row) => !waitsInLane(connection, row))
    if (claimable.length > 0 || due.length === 0) return claimable
  }
  return []
}

const LOOKS = 10

type LeasedRow = { takeovers: number; uncertain_for_ms: number | null }

type DueRow = LanePlace & {
  key: string
  event_id: string | null
  content_type: string
  headers: string
  body: Uint8Array
  created_at: number
  attempts: number
  answer: string | null
  same_answers: number
}

function asClaimedMessage(
  destination: string,
  row: DueRow,
  token: number,
  leased: LeasedRow | undefined,
): ClaimedMessage {
  const uncertainForMs = leased?.uncertain_for_ms ?? undefined
  return {
    id: row.message_id,
    destination,
    key: row.key,
    eventId: row.event_id ?? undefined,
    contentType: row.content_type,
    headers: readHeaders(row.headers),
    body: row.body,
    createdAt: new Date(row.created_at),
    attempt: row.attempts + 1,
    takeovers: leased?.takeovers ?? 0,
    token: String(token),
    uncertainForMs: uncertainForMs === undefined ? undefined : Math.max(0, uncertainForMs),
    answer: row.answer ?? undefined,
    sameAnswers: row.same_answers,
  }
}
