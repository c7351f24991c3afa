/**
 * Auth0's event streams and log streams: a credential in `authorization`, and nothing signed.
 *
 * An event stream shows it behind `Bearer`, or as a user and a password. A log stream shows what was typed
 * into its settings, as it is. A body of a log stream may be a list, an object with a list, or one JSON text
 * in each line, which is no JSON as a whole.
 *
 * An event stream does not retry after a 4xx: a delivery that is refused waits for you to redeliver it.
 *
 * @module
 */

import { findHeader } from '../../model/delivery.ts'
import type { Delivery } from '../../model/delivery.ts'
import { decodeCredentials, findBasicCredentials } from '../../verify/basic-auth.ts'
import { Reading } from '../../body/json-path.ts'
import { EVERY } from '../../body/json-tokens.ts'
import { resolveSecrets } from '../../verify/secrets.ts'
import type { Secret } from '../../verify/secrets.ts'
import { findTokenOwner } from '../../verify/token.ts'
import { defineProvider } from '../define-provider.ts'
import type { Provider } from '../define-provider.ts'
import type { BatchPart } from '../identification.ts'
import { customVerification } from '../schemes/custom-verification.ts'
import type { TokenOptions } from '../schemes/shared-token.ts'

/** Auth0's streams. An event is known by its `id`, an entry of the log by its `log_id`. */
export const auth0: Provider<Auth0Options, Auth0Events> = defineProvider({
  provider: 'auth0',
  verify: customVerification({
    summary:
      'a shared token (`Bearer`, basic authentication, or as it is for a log stream), compared in constant time; nothing is signed',
    headers: ['authorization'],
    signsBody: false,
    optionNames: ['secrets'],
    build({ provider, options }) {
      const given = options['secrets'] as readonly Secret[] | undefined
      const { secrets, warnings } = resolveSecrets(provider, given, decodeSecret)
      const findOwner = (shown: Uint8Array, { receivedAt }: Delivery) =>
        findTokenOwner(secrets, shown, receivedAt.getTime())
      return {
        secrets,
        warnings,
        verify(delivery) {
          const value = findHeader(delivery, 'authorization')
          if (value === undefined) return { ok: false, reason: 'missing-header' }
          const token = findToken(value)
          const owner = token && findOwner(token, delivery)
          if (owner !== undefined) return { ok: true, secret: owner }
          const typed = findOwner(bytesOf(value), delivery)
          return typed === undefined || isOfEventStream(delivery)
            ? { ok: false, reason: 'bad-token' }
            : { ok: true, secret: typed }
        },
      }
    },
  }),
  batch: cutLogs,
  key: ['json:$.log_id', 'json:$.id'],
  scope: ['json:$.a0tenant', 'json:$.data.tenant_name'],
  type: ['json:$.type', 'json:$.data.type'],
  occurredAt: ['json:$.time', 'json:$.data.date'],
  version: 'json:$.data.object.updated_at',
  // A log stream goes on for seven days and is then paused. An event stream gives up after seven seconds.
  retryWindowHours: 168,
})

/** An event of an event stream, or an entry of a log stream. */
export interface Auth0Payload {
  /** Of an event. */
  readonly id?: string
  readonly type?: string
  /** ISO 8601. */
  readonly time?: string
  readonly a0tenant?: string
  readonly a0stream?: string
  /** Of an entry of the log, whose type is `data.type`. */
  readonly log_id?: string
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly data: Record<string, any>
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly [member: string]: any
}

/** The payloads of Auth0 event streams and log streams by event type. Give `auth0` a map of your own for exact ones. */
export type Auth0Events = Readonly<Record<string, Auth0Payload>>

/** What `auth0` is configured with. */
export type Auth0Options = TokenOptions

/** A token, or a user and a password: with a colon it may be used as either. */
function decodeSecret(text: string): Buffer {
  return decodeCredentials(text) ?? Buffer.from(text, 'utf8')
}

/** What stands behind `Bearer`, or the user and password. */
function findToken(header: string): Uint8Array | undefined {
  return header.startsWith('Bearer ')
    ? bytesOf(header.slice('Bearer '.length))
    : findBasicCredentials(header)
}

/** A header holds one byte for each character. */
function bytesOf(header: string): Uint8Array {
  return Buffer.from(header, 'latin1')
}

/** Looked at only once the credential has been shown. */
function isOfEventStream(delivery: Delivery): boolean {
  return new Reading(delivery).json?.findValue(['specversion']) !== undefined
}

function cutLogs({ json, delivery }: Reading): Iterable<BatchPart> | undefined {
  if (json === undefined) return cutLines(delivery.body)
  if (Array.isArray(json.findValue([]))) return partsOf(json.walkSlices([EVERY]))
  if (Array.isArray(json.findValue(['logs']))) return partsOf(json.walkSlices(['logs', EVERY]))
  // A single line is JSON as a whole. Cut as the others are, it reads the same in any group.
  return json.findText(['log_id']) === undefined ? undefined : [partOf(trim(delivery.body))]
}

/** A line that is no JSON is kept as an event without a key, rather than lost. */
function* cutLines(body: Uint8Array): Generator<BatchPart, void> {
  let start = 0
  while (start < body.byteLength) {
    const found = body.indexOf(LINE_FEED, start)
    const end = found === -1 ? body.byteLength : found
    const line = trim(body.subarray(start, end))
    if (line.byteLength > 0) yield partOf(line)
    start = end + 1
  }
}

function* partsOf(slices: Iterable<Uint8Array>): Generator<BatchPart, void> {
  for (const bytes of slices) yield partOf(bytes)
}

function partOf(bytes: Uint8Array): BatchPart {
  return { bytes, bodyType: 'application/json' }
}

const LINE_FEED = 0x0a
/** Of JSON: space, tab, line feed, carriage return. */
const SPACES: readonly (number | undefined)[] = [0x20, 0x09, LINE_FEED, 0x0d]

function trim(bytes: Uint8Array): Uint8Array {
  let [start, end] = [0, bytes.byteLength]
  while (start < end && SPACES.includes(bytes[start])) start += 1
  while (end > start && SPACES.includes(bytes[end - 1])) end -= 1
  return bytes.subarray(start, end)
}
