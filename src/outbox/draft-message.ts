/**
 * From what a handler says to a message that can be stored, or an error where the handler stands: what
 * cannot be sent must not be found out by a relay, long after the transaction has committed.
 *
 * @module
 */

import { didYouMean } from '../options/did-you-mean.ts'
import { HookonceError, OptionInvalidError } from '../errors.ts'
import { rejectUnknownKeys } from '../options/reject-unknown-keys.ts'
import { requireInteger } from '../options/require-integer.ts'
import type { MessageDraft, MessageLane, SendOptions } from '../model/message.ts'
import { messageLaneIdOf } from '../model/message-lane.ts'
import { describeIssues } from '../model/standard-schema.ts'
import type { StandardSchema } from '../model/standard-schema.ts'

export interface MessageInput {
  readonly destination: string
  readonly payload: unknown
  readonly options: SendOptions
  /** Used when the options have no key. */
  readonly defaultKey: () => string
  readonly eventId: string | undefined
}

/**
 * @param destinations - what a payload must be, by the names of the destinations; `undefined` where it may be anything
 * @throws HookonceError with the code MESSAGE_INVALID, MESSAGE_MISMATCH, OPTION_INVALID or DESTINATION_UNKNOWN
 */
export function draftMessage(
  destinations: ReadonlyMap<string, StandardSchema | undefined>,
  { destination, payload, options, defaultKey, eventId }: MessageInput,
): MessageDraft {
  requireDestination(destinations, destination)
  rejectUnknownKeys('send', options, ['key', 'delayMs', 'headers', 'lane'])
  const { key = defaultKey(), delayMs = 0, lane } = options
  requireKey(key)
  requireInteger('send.delayMs', delayMs, { min: 0, max: DELAY_MS_MAX })
  const { 'content-type': givenType, ...headers } = readHeaders(options.headers ?? {})
  const checked = checkPayload(destination, destinations.get(destination), payload)
  const { body, contentType } = writeBody(checked)
  return {
    destination,
    key,
    body,
    contentType: givenType ?? contentType,
    headers,
    delayMs,
    eventId,
    lane: lane === undefined ? undefined : readLane(destination, lane),
  }
}

/** A year: what is due later belongs into a table of the user's. */
const DELAY_MS_MAX = 366 * 86_400_000
/** As for the lanes of events. */
const LANE_LENGTH_MAX = 1_000
const BODY_BYTES_MAX = 8 * 1_048_576
/** Receivers refuse heads of 8 to 16 KiB, and these are not all that is in one. */
const HEADERS_LENGTH_MAX = 8_192

/** What is sent is what the schema puts out. Checked here, and not by the relay: the handler can still fail with it. */
function checkPayload(
  destination: string,
  schema: StandardSchema | undefined,
  payload: unknown,
): unknown {
  if (schema === undefined) return payload
  const checked = schema['~standard'].validate(payload)
  if (checked instanceof Promise) {
    // Nothing waits for it, and what it says would end the process as an unhandled rejection.
    checked.catch(() => undefined)
    throw mismatch(
      destination,
      'Its schema answers with a promise; a message is checked where it is sent, so that the schema must be synchronous',
    )
  }
  if (checked.issues !== undefined) throw mismatch(destination, describeIssues(checked.issues))
  return checked.value
}

function mismatch(destination: string, problem: string): HookonceError {
  return new HookonceError(
    'MESSAGE_MISMATCH',
    `The payload is not what the destination "${destination}" takes: ${problem}`,
  )
}

function requireDestination(
  destinations: ReadonlyMap<string, StandardSchema | undefined>,
  name: string,
): void {
  if (destinations.has(name)) return
  const known = [...destinations.keys()].join(', ') || 'none'
  throw new HookonceError(
    'DESTINATION_UNKNOWN',
    `There is no destination "${name}"${didYouMean(name, [...destinations.keys()])} Configured: ${known}`,
  )
}

/** Becomes a header, and 255 is the most that the strictest API takes. */
function requireKey(key: unknown): void {
  if (typeof key === 'string' && /^[\x21-\x7e]{1,255}$/.test(key)) return
  throw new OptionInvalidError('send.key', '1 to 255 visible ASCII characters', key)
}

function readLane(destination: string, name: unknown): MessageLane {
  if (typeof name === 'string' && name !== '' && name.length <= LANE_LENGTH_MAX)
    return { id: messageLaneIdOf(destination, name), name }
  throw new OptionInvalidError('send.lane', `a text of 1 to ${LANE_LENGTH_MAX} characters`, name)
}

function writeBody(payload: unknown): { body: Uint8Array; contentType: string } {
  const body = payload instanceof Uint8Array ? payload : Buffer.from(writeJson(payload))
  if (body.byteLength > BODY_BYTES_MAX)
    throw invalid(`Its payload is longer than ${BODY_BYTES_MAX} bytes`)
  const contentType = body === payload ? 'application/octet-stream' : 'application/json'
  return { body, contentType }
}

function writeJson(payload: unknown): string {
  let text: string | undefined
  try {
    text = JSON.stringify(payload, refuseSilentLoss)
  } catch (error) {
    if (error instanceof HookonceError) throw error
    throw invalid('Its payload cannot be written as JSON', error)
  }
  if (text === undefined) throw invalid('Its payload cannot be written as JSON')
  return text
}

/**
 * What JSON would make `null` or `{}` of without a word. A Date is left alone, and whatever else says itself
 * how it is written: unlike the result of a step, a message need not come back as it was.
 */
function refuseSilentLoss(this: unknown, key: string, value: unknown): unknown {
  const lost = findLost((this as Record<string, unknown>)[key], value, Array.isArray(this))
  if (lost === undefined) return value
  const where = key === '' ? 'Its payload' : `${JSON.stringify(key)} in its payload`
  throw invalid(`${where} is ${lost}, which JSON would lose`)
}

function findLost(given: unknown, value: unknown, isInList: boolean): string | undefined {
  if (typeof value === 'number') return Number.isFinite(value) ? undefined : String(value)
  if (value instanceof Map) return 'a Map'
  if (value instanceof Set) return 'a Set'
  if (value === null && given instanceof Date) return 'a Date that is none'
  const isNothing = ['undefined', 'function', 'symbol'].includes(typeof value)
  return isInList && isNothing ? `${typeof value} in a list` : undefined
}

function readHeaders(given: Readonly<Record<string, string>>): Record<string, string> {
  // Without a prototype: what is forwarded has the names that a sender gave, and one of them may be `constructor`.
  const headers = Object.create(null) as Record<string, string>
  let length = 0
  for (const [givenName, value] of Object.entries(given)) {
    const name = givenName.toLowerCase()
    requireHeader(name, value)
    if (name in headers) throw invalid(`It has the header ${name} twice`)
    headers[name] = value
    length += name.length + value.length
  }
  if (length > HEADERS_LENGTH_MAX)
    throw invalid(`Its headers are longer than ${HEADERS_LENGTH_MAX} characters`)
  return headers
}

/** One line of a head, and not one that says who sends, where to, or how long it is. */
export function requireHeader(name: string, value: unknown): void {
  if (!/^[a-z0-9!#$%&'*+.^_`|~-]{1,100}$/.test(name))
    throw invalid('It has a header with a name that cannot be one')
  if (OURS.has(name)) throw invalid(`The header ${name} is set by hookonce`)
  if (typeof value !== 'string' || !/^[\t\x20-\x7e\x80-\xff]*$/.test(value))
    throw invalid(`The header ${name} has a value that cannot be one`)
}

const OURS: ReadonlySet<string> = new Set([
  'accept-encoding',
  'connection',
  'content-length',
  'expect',
  'hookonce-attempt',
  'host',
  'idempotency-key',
  'keep-alive',
  'proxy-authorization',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'webhook-id',
  'webhook-signature',
  'webhook-timestamp',
])

function invalid(what: string, cause?: unknown): HookonceError {
  return new HookonceError('MESSAGE_INVALID', `A message cannot be sent. ${what}`, { cause })
}
