/**
 * Writes what became of claimed messages, each only if its lease is still the one it was claimed with.
 *
 * @module
 */

import type { MessageFailure, MessageId, MessageResponse } from '../../../model/message.ts'
import type { MessageSettlement } from '../../contract/messages.ts'
import type { LoopBreaks } from '../../../flow/loop-breaks.ts'
import { wholeMs } from '../../shared/whole-ms.ts'
import type { Connection } from '../connection.ts'
import { blockMessageLane, freeMessageLane } from './message-lanes.ts'

// 1 doubt  2 message  3 token
const FIND_HELD = `
  select attempts, lane_id,
         case ? when 'since-claim' then coalesce(uncertain_since, claimed_at)
                when 'cleared' then null
                else uncertain_since end as uncertain_since
    from {prefix}message_queue
   where message_id = ?
     and lease_token = ?`

// 1 message
const DEQUEUE = `
  delete from {prefix}message_queue
   where message_id = ?`

// 1 delay in ms  2 attempts  3 uncertain since  4 message
const GIVE_BACK = `
  update {prefix}message_queue
     set send_at = cast(unixepoch('subsec') * 1000 as integer) + ?,
         lease_token = null,
         claimed_at = null,
         attempts = ?,
         uncertain_since = ?
   where message_id = ?`

// 1 answer  2 same answers  3 message
const KEEP_ANSWER = `
  update {prefix}message_queue
     set answer = ?,
         same_answers = ?
   where message_id = ?`

// 1 message  2 state  3 attempts  4 reason  5 uncertain since  6 status  7 head  8 body
const INSERT_OUTCOME = `
  insert into {prefix}message_outcomes
         (message_id, state, attempts, reason, uncertain_since, status, response_head, response_body, settled_at)
  values (?, ?, ?, ?, ?, ?, ?, ?, cast(unixepoch('subsec') * 1000 as integer))`

// 1 message  2 attempt  3 reason  4 message  5 status  6 head  7 body  8 duration
const INSERT_ATTEMPT = `
  insert into {prefix}message_attempts
         (message_id, attempt, reason, message, status, response_head, response_body, duration_ms, failed_at)
  values (?, ?, ?, ?, ?, ?, ?, ?, cast(unixepoch('subsec') * 1000 as integer))`

/** Returns the tokens of those whose lease was still held. */
export async function settleMessages(
  connection: Connection,
  breaks: LoopBreaks,
  settlements: readonly MessageSettlement[],
): Promise<ReadonlySet<string>> {
  const tokens = await breaks.each(settlements, (settlement) =>
    settleMessage(connection, settlement) ? [settlement.token] : [],
  )
  return new Set(tokens.flat())
}

function settleMessage(connection: Connection, settlement: MessageSettlement): boolean {
  const { id, token } = settlement
  const doubt = 'doubt' in settlement ? settlement.doubt : 'keep'
  const [held] = connection.all<HeldRow>(FIND_HELD, [doubt, id, Number(token)])
  if (held === undefined) return false
  const isCounted = settleHeld(connection, settlement, held)
  if (held.lane_id !== null) {
    if ('blocksLane' in settlement && settlement.blocksLane)
      blockMessageLane(connection, id, held.lane_id)
    freeMessageLane(connection, held.lane_id)
  }
  return isCounted
}

function settleHeld(connection: Connection, settlement: MessageSettlement, held: HeldRow): boolean {
  const { id } = settlement
  const failure = 'failure' in settlement ? settlement.failure : undefined
  const isAttempt =
    settlement.state !== 'given-back' && !(settlement.state === 'unknown' && failure === undefined)
  const attempts = isAttempt ? held.attempts : held.attempts - 1
  if (failure !== undefined) insertAttempt(connection, id, attempts, failure)

  switch (settlement.state) {
    case 'ready':
    case 'given-back': {
      const delayMs = Math.ceil(settlement.retryInMs)
      connection.run(GIVE_BACK, [delayMs, attempts, held.uncertain_since, id])
      if (settlement.state === 'ready')
        connection.run(KEEP_ANSWER, [settlement.answer ?? null, settlement.sameAnswers, id])
      return true
    }
    case 'sent':
      insertOutcome(connection, id, { state: 'sent', attempts, response: settlement.response })
      return connection.run(DEQUEUE, [id]) === 1
    case 'dead':
    case 'unknown': {
      const { state, reason } = settlement
      const uncertainSince = held.uncertain_since
      insertOutcome(connection, id, { state, attempts, reason, uncertainSince })
      return connection.run(DEQUEUE, [id]) === 1
    }
  }
}

type HeldRow = { attempts: number; uncertain_since: number | null; lane_id: string | null }

function insertOutcome(
  connection: Connection,
  id: MessageId,
  outcome: {
    readonly state: string
    readonly attempts: number
    readonly reason?: string
    readonly uncertainSince?: number | null
    readonly response?: MessageResponse | undefined
  },
): void {
  const { state, attempts, reason, uncertainSince, response } = outcome
  connection.run(INSERT_OUTCOME, [
    id,
    state,
    attempts,
    reason ?? null,
    uncertainSince ?? null,
    ...responseValues(response),
  ])
}

function insertAttempt(
  connection: Connection,
  id: MessageId,
  attempt: number,
  { reason, message, durationMs, response }: MessageFailure,
): void {
  connection.run(INSERT_ATTEMPT, [
    id,
    attempt,
    reason,
    message,
    ...responseValues(response),
    wholeMs(durationMs),
  ])
}

function responseValues(response: MessageResponse | undefined): unknown[] {
  return [response?.status ?? null, response?.head ?? null, response?.body ?? null]
}
