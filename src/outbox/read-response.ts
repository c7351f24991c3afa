/**
 * What an HTTP answer means for a message, and what of it is kept.
 *
 * @module
 */

import type { IncomingHttpHeaders } from 'node:http'
import type { MessageResponse } from '../model/message.ts'
import type { SendResult } from './destination.ts'
import { parseRetryAfter } from './retry-after.ts'

export interface HttpAnswer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: Uint8Array
}

/**
 * Codes that say that this message will never be taken as it is. Not among them are 401, 403 and 404: a
 * wrong credential and a route that is not deployed yet are put right without touching the message.
 */
const PERMANENT: ReadonlyMap<number, string> = new Map([
  [400, 'the request is not understood'],
  [405, 'the method is not allowed'],
  [406, 'no acceptable answer'],
  [411, 'the length is missing'],
  [413, 'the body is too large'],
  [414, 'the URL is too long'],
  [415, 'the content type is not taken'],
  [
    422,
    'the key was used with another body, or the body is not accepted; this is a bug on one of the sides',
  ],
  [431, 'the headers are too large'],
  [451, 'it is not allowed by law'],
  [501, 'it is not implemented'],
])

/** Codes by which the other side says that it has not even looked. */
const NOT_TAKEN: ReadonlySet<number> = new Set([401, 402, 403, 404, 421, 425, 429])

export function readResponse(answer: HttpAnswer, secrets: readonly string[]): SendResult {
  const { status, headers } = answer
  const response = keepResponse(answer, secrets)
  const isFinal = isSaidToBeFinal(headers)
  if (status >= 200 && status < 300) return { status: 'sent', response }
  return {
    status: 'failed',
    reason: 'refused',
    message: describeStatus(status),
    arrived: isCertainlyNotTaken(status) ? 'no' : 'maybe',
    // With a 5xx the other side, or a gateway before it, says that it is not well.
    answered: status < 500,
    permanent: isFinal ? `answered ${status} with hookonce-retry: never` : findPermanent(status),
    retryAfterMs: parseRetryAfter(headers['retry-after'], headers.date),
    // With the header a 410 speaks of what the message is about, and not of the whole destination.
    gone: status === 410 && !isFinal ? 'it answered 410 Gone' : undefined,
    response,
  }
}

/**
 * The word of the service behind the URL. Only this word: a value that we do not know must not cost a message its
 * attempts.
 */
function isSaidToBeFinal(headers: IncomingHttpHeaders): boolean {
  const said = headers['hookonce-retry']
  return typeof said === 'string' && said.trim().toLowerCase() === 'never'
}

function describeStatus(status: number): string {
  if (status >= 300 && status < 400) return `answered ${status}: a redirect is not followed`
  if (status === 409) return 'answered 409: the same key is being worked on'
  return `answered ${status}`
}

/** 409 says that another request with the key is on its way, so nothing is certain. */
function isCertainlyNotTaken(status: number): boolean {
  return (
    NOT_TAKEN.has(status) ||
    PERMANENT.has(status) ||
    status === 410 ||
    (status >= 300 && status < 400)
  )
}

function findPermanent(status: number): string | undefined {
  const why = PERMANENT.get(status)
  return why === undefined ? undefined : `answered ${status}: ${why}`
}

/** Headers with which a receiver hands out credentials. */
const WITHHELD: ReadonlySet<string> = new Set([
  'authentication-info',
  'authorization',
  'proxy-authenticate',
  'set-cookie',
  'www-authenticate',
])
const HEAD_LENGTH_MAX = 16_384
const REDACTED = '[redacted]'

/** The head and the beginning of the body, undecoded, without what we know to be secret. */
function keepResponse(
  { status, headers, body }: HttpAnswer,
  secrets: readonly string[],
): MessageResponse {
  const lines = Object.entries(headers).map(([name, value]) => {
    const text = Array.isArray(value) ? value.join(', ') : (value ?? '')
    return `${name}: ${WITHHELD.has(name) ? REDACTED : text}`
  })
  const head = secrets.reduce(
    (text, secret) => text.replaceAll(secret, REDACTED),
    lines.join('\n').slice(0, HEAD_LENGTH_MAX),
  )
  return { status, head, body: redactBytes(body, secrets) }
}

/** A receiver that echoes what it was sent must not put our credentials into the database. */
function redactBytes(body: Uint8Array, secrets: readonly string[]): Uint8Array {
  let bytes = Buffer.from(body)
  for (const secret of secrets) {
    if (!bytes.includes(secret)) continue
    // latin1 keeps every byte as it is; the secret is looked for as its own bytes.
    const needle = Buffer.from(secret).toString('latin1')
    bytes = Buffer.from(bytes.toString('latin1').replaceAll(needle, REDACTED), 'latin1')
  }
  return bytes
}
