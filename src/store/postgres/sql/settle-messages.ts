/**
 * Writes what became of claimed messages, many at once, each only if its lease is still the one it was
 * claimed with. Under READ COMMITTED a row that another relay has just taken is looked at again after
 * its lock, so that its new token is seen.
 *
 * @module
 */

import type { MessageFailure, MessageResponse } from '../../../model/message.ts'
import type { MessageSettlement } from '../../contract/messages.ts'
import { byteaArray, plainArray, textArray } from '../binary-array.ts'
import { wholeMs } from '../../shared/whole-ms.ts'

export const CREATE_SETTLE_MESSAGES = `
create or replace function {schema}.settle_messages(
  ids uuid[], tokens bigint[], states text[], reasons text[], doubts text[], retries_ms bigint[], answers text[],
  same_answer_counts integer[], failure_reasons text[], failure_messages text[], durations_ms integer[],
  statuses integer[], heads text[], bodies bytea[], blocks boolean[])
returns setof bigint
language plpgsql as $settle_messages$
#variable_conflict use_column
declare
  lanes uuid[];
begin
  perform {schema}.require_settings();
  lanes := array(select distinct q.lane_id
                   from {schema}.message_queue q
                  where q.message_id = any(ids) and q.lane_id is not null);
  perform {schema}.lock_message_lanes(lanes);
  return query
  with s as materialized (
         select *
           from unnest(ids, tokens, states, reasons, doubts, retries_ms, answers, same_answer_counts,
                       failure_reasons, failure_messages, durations_ms, statuses, heads, bodies, blocks)
             as s (id, token, state, reason, doubt, retry_ms, answer, same_answers, failure_reason,
                   failure_message, duration_ms, status, head, body, blocks_lane)),
       held as materialized (
         select s.*, q.lane_id,
                case when s.state = 'given-back' or (s.state = 'unknown' and s.failure_reason is null)
                     then q.attempts - 1 else q.attempts end as attempts,
                case s.doubt when 'since-claim' then coalesce(q.uncertain_since, q.claimed_at)
                             when 'cleared' then null
                             else q.uncertain_since end as uncertain_since
           from s
           join {schema}.message_queue q on q.message_id = s.id and q.lease_token = s.token
          where q.message_id = any(ids)
            for update of q),
       ended as (
         delete from {schema}.message_queue q
          using held h
          where q.message_id = h.id and h.state in ('sent', 'dead', 'unknown')),
       requeued as (
         update {schema}.message_queue q
            set send_at = clock_timestamp() + h.retry_ms * interval '1 millisecond',
                lease_token = null,
                claimed_at = null,
                attempts = h.attempts,
                uncertain_since = h.uncertain_since,
                answer = case when h.state = 'ready' then h.answer else q.answer end,
                same_answers = case when h.state = 'ready' then h.same_answers else q.same_answers end
           from held h
          where q.message_id = h.id and h.state in ('ready', 'given-back')),
       outcome as (
         insert into {schema}.message_outcomes
                (message_id, state, attempts, reason, uncertain_since, status, response_head, response_body,
                 settled_at)
         select id, state, attempts, reason, case when state <> 'sent' then uncertain_since end,
                case when state = 'sent' then status end, case when state = 'sent' then head end,
                case when state = 'sent' then body end, clock_timestamp()
           from held
          where state in ('sent', 'dead', 'unknown')),
       blocked as (
         insert into {schema}.message_lane_blocks (message_id, lane_id)
         select id, lane_id
           from held
          where state in ('dead', 'unknown') and blocks_lane and lane_id is not null),
       failed as (
         insert into {schema}.message_attempts
                (message_id, attempt, reason, message, status, response_head, response_body, duration_ms,
                 failed_at)
         select id, attempts, failure_reason, failure_message, status, head, body, duration_ms, clock_timestamp()
           from held
          where failure_reason is not null)
  select token from held;
  if cardinality(lanes) > 0 then perform {schema}.free_message_lanes(lanes); end if;
end
$settle_messages$;`

// $1 to $15: see settleMessageValues
export const SETTLE_MESSAGES = `
  select token
    from {schema}.settle_messages($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15) as token`

export function settleMessageValues(settlements: readonly MessageSettlement[]): unknown[] {
  const failures = settlements.map(findFailure)
  const responses = settlements.map(findResponse)
  return [
    plainArray(settlements.map(({ id }) => id)),
    plainArray(settlements.map(({ token }) => token)),
    plainArray(settlements.map(({ state }) => state)),
    textArray(settlements.map((s) => ('reason' in s ? s.reason : null))),
    plainArray(settlements.map((s) => ('doubt' in s ? s.doubt : 'keep'))),
    plainArray(settlements.map((s) => ('retryInMs' in s ? Math.ceil(s.retryInMs) : 0))),
    textArray(settlements.map((s) => ('answer' in s ? (s.answer ?? null) : null))),
    plainArray(settlements.map((s) => ('sameAnswers' in s ? s.sameAnswers : 0))),
    textArray(failures.map((failure) => failure?.reason ?? null)),
    textArray(failures.map((failure) => failure?.message ?? null)),
    plainArray(failures.map((failure) => wholeMs(failure?.durationMs ?? 0))),
    plainArray(responses.map((response) => response?.status ?? 'NULL')),
    textArray(responses.map((response) => response?.head ?? null)),
    byteaArray(responses.map((response) => response?.body ?? null)),
    plainArray(settlements.map((s) => String('blocksLane' in s && s.blocksLane))),
  ]
}

function findFailure(settlement: MessageSettlement): MessageFailure | undefined {
  return 'failure' in settlement ? settlement.failure : undefined
}

function findResponse(settlement: MessageSettlement): MessageResponse | undefined {
  return settlement.state === 'sent' ? settlement.response : findFailure(settlement)?.response
}
