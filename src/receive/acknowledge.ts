/**
 * Every answer to a delivery.
 *
 * A 4xx is never used for our own faults: several senders never retry one. A refused signature gets
 * one fixed body, whatever the reason, so that it tells a forger nothing.
 *
 * @module
 */

import type { Acknowledgement, AcknowledgementOutcome } from '../model/acknowledgement.ts'
import type { HandshakeAnswer, RefusalAnswer, SuccessAnswer } from '../model/source.ts'
import type { EventId } from '../model/event.ts'

const JSON_HEADERS = { 'content-type': 'application/json', 'cache-control': 'no-store' } as const

/** The event is durable: as a new one, or from an earlier delivery. */
export function stored(
  success: SuccessAnswer,
  {
    outcome,
    eventId,
  }: { outcome: 'accepted' | 'duplicate' | 'conflict' | 'quarantined'; eventId: EventId },
): Acknowledgement {
  // A conflict and a quarantined event are ours to sort out: to the sender they are accepted.
  const status = outcome === 'duplicate' ? 'duplicate' : 'accepted'
  return written(success, outcome, eventId, `{"status":"${status}","event":"${eventId}"}`)
}

/** The handlers have run. `result` is what they returned, as JSON text. */
export function processed(
  success: SuccessAnswer,
  { outcome, eventId, state, result }: ProcessedAnswer,
): Acknowledgement {
  const status = outcome === 'duplicate' ? 'duplicate' : 'accepted'
  const body = `{"status":"${status}","event":"${eventId}","state":"${state}","result":${result ?? 'null'}}`
  return written(success, outcome, eventId, body)
}

export interface ProcessedAnswer {
  readonly outcome: 'accepted' | 'duplicate'
  readonly eventId: EventId
  readonly state: 'done' | 'skipped'
  readonly result: string | undefined
}

/** For `acknowledge: 'processed'`: the attempt failed. The sender sees it and may send again; the event is kept. */
export function failed(eventId: EventId): Acknowledgement {
  return answer(500, 'failed', `{"error":"handler_failed","event":"${eventId}"}`, { eventId })
}

export function unknownSource(): Acknowledgement {
  return answer(404, 'unknown-source', '{"error":"not_found"}')
}

export function wrongMethod(methods: readonly string[] = ['POST']): Acknowledgement {
  return answer(405, 'wrong-method', '{"error":"method_not_allowed"}', {
    headers: { allow: methods.join(', ') },
  })
}

/** Missing, wrong or stale signature. */
export function refused(
  { status, body }: RefusalAnswer = { status: 401, body: 'json' },
): Acknowledgement {
  const refusal = answer(status, 'refused', '{"error":"unauthorized"}')
  return body === 'json'
    ? refusal
    : { ...refusal, headers: { 'cache-control': 'no-store' }, body: '' }
}

/** The sender checked the endpoint and is told what it asked for. Nothing was stored. */
export function handshaken({ status, headers, body }: HandshakeAnswer): Acknowledgement {
  return {
    status,
    headers: { 'cache-control': 'no-store', ...headers },
    body,
    outcome: 'handshake',
    eventId: undefined,
    close: false,
  }
}

/** A security header that came twice, or a timestamp that is no timestamp. */
export function malformed(): Acknowledgement {
  return answer(400, 'malformed', '{"error":"malformed_request"}')
}

export function tooSlow(): Acknowledgement {
  return answer(408, 'too-slow', '{"error":"request_timeout"}', { close: true })
}

export function tooLarge(bodyBytesMax: number): Acknowledgement {
  return answer(413, 'too-large', `{"error":"body_too_large","max":${bodyBytesMax}}`, {
    close: true,
  })
}

export function encoded(): Acknowledgement {
  return answer(415, 'encoded', '{"error":"content_encoding_not_supported"}')
}

/** Anything on our side, a COMMIT whose outcome is unknown included. */
export function unavailable(retryAfterSeconds = 5): Acknowledgement {
  return answer(503, 'unavailable', '{"error":"unavailable"}', {
    headers: { 'retry-after': String(retryAfterSeconds) },
  })
}

/** Something parsed the body before we saw its bytes, so no signature can be checked. Says what to change. */
export function bodyParsed(hint: string): Acknowledgement {
  return answer(500, 'body-parsed', JSON.stringify({ error: 'body_parsed', hint }))
}

function written(
  success: SuccessAnswer,
  outcome: AcknowledgementOutcome,
  eventId: EventId,
  json: string,
): Acknowledgement {
  if (success.status === 204 || success.body === 'empty') {
    return {
      status: success.status,
      headers: { 'cache-control': 'no-store' },
      body: '',
      outcome,
      eventId,
      close: false,
    }
  }
  if (success.body !== 'json') {
    const headers = { 'content-type': success.body.contentType }
    return answer(success.status, outcome, success.body.text, { eventId, headers })
  }
  return answer(success.status, outcome, json, { eventId })
}

function answer(
  status: number,
  outcome: AcknowledgementOutcome,
  body: string,
  {
    headers = {},
    eventId,
    close = false,
  }: { headers?: Record<string, string>; eventId?: EventId; close?: boolean } = {},
): Acknowledgement {
  return { status, headers: { ...JSON_HEADERS, ...headers }, body, outcome, eventId, close }
}
