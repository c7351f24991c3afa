/**
 * X (Twitter): `x-twitter-webhooks-signature: sha256=<base64>` over the body, with the app's consumer
 * secret.
 *
 * Its challenge is answered with the same HMAC over a text that the caller chooses. Answered as it comes,
 * it would sign a forger's body. So a challenge must be a token, which no body is: a body begins with `{`.
 *
 * Account Activity puts lists into a request, one for each kind of event, and sends one event once for
 * each subscribed user. Every element is an event of its own, in a body of the shape of a request that
 * has nothing else in it.
 *
 * @module
 */

import { createHash } from 'node:crypto'
import { JsonBody } from '../../body/json-body.ts'
import type { JsonNode } from '../../body/json-node.ts'
import type { Reading } from '../../body/json-path.ts'
import { Beside } from '../beside.ts'
import { defineProvider } from '../define-provider.ts'
import type { Provider } from '../define-provider.ts'
import type { SecretOptions } from '../define-source.ts'
import { jsonAnswer } from '../handshake.ts'
import type { HandshakeContext } from '../handshake.ts'
import type { BatchPart } from '../identification.ts'
import { oncePerReading } from '../once-per-reading.ts'
import { hmacSignature } from '../schemes/hmac-signature.ts'
import { withCheck } from '../schemes/with-check.ts'

/** X's webhooks: Account Activity, X Activity and the filtered stream. */
export const x: Provider<XOptions, XEvents> = defineProvider({
  provider: 'x',
  verify: withCheck(
    hmacSignature({
      signature: 'header:x-twitter-webhooks-signature',
      prefix: 'sha256=',
      algorithm: 'sha256',
      encoding: 'base64',
      signed: '{body}',
    }),
    { check: ({ body }) => (body[0] === OPEN_BRACE ? undefined : 'malformed-body') },
  ),
  handshake: {
    summary:
      'a GET with `crc_token`, at registration and every hour or so; answered 200 with its HMAC as `response_token`',
    method: 'GET',
    when: 'query:crc_token',
    answer: answerChallenge,
  },
  batch: cutEvents,
  key: findKey,
  scope: ['json:$.for_user_id', 'json:$.data.filter.user_id'],
  type: findType,
  occurredAt: findTime,
  // What stands beside the event, such as `users`, goes by what else is in the request.
  content: (reading) => findItem(reading)?.bytes,
  // Retries are not documented; a replay job sends the events of five days again.
  retryWindowHours: 120,
  timeoutSeconds: 10,
})

/** A request with one event in it. */
export interface XPayload {
  /** The subscribed user that it was sent for. */
  readonly for_user_id?: string
  /** X Activity: the event; the filtered stream: the post. */
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly data?: Record<string, any>
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly [member: string]: any
}

/** The payloads of X by event type. Give `x` a map of your own for exact ones. */
export type XEvents = Readonly<Record<string, XPayload>>

/** What `x` is configured with. */
export type XOptions = SecretOptions

const CHALLENGE = /^[\w+/=.-]{1,512}$/

function answerChallenge({ find, hmac }: HandshakeContext) {
  const token = find('query:crc_token')
  if (!CHALLENGE.test(token)) return 'refuse'
  return jsonAnswer({ response_token: `sha256=${hmac('sha256', token, 'base64')}` })
}

const OPEN_BRACE = 0x7b

function cutEvents({ json }: Reading): Iterable<BatchPart> | undefined {
  const names = listLists(json)
  const body = json?.findNode([])
  return body === undefined || names.length === 0 ? undefined : cutLists(body, new Set(names))
}

function* cutLists(body: JsonNode, names: ReadonlySet<string>): Generator<BatchPart, void> {
  const lists = body.listMembers().filter(([name]) => names.has(name))
  const count = lists.reduce((sum, [, { value }]) => sum + (value as readonly unknown[]).length, 0)
  const directories = { users: (id: string) => id, apps: (id: string) => id }
  const beside = new Beside(body, { lists: names, count, directories })
  for (const [name, list] of lists)
    for (const item of list.walkElements()) {
      const text = beside.writeAround(name, item.source, listSpokenOf(item.value))
      yield { bytes: Buffer.from(text, 'utf8') }
    }
}

/** Who wrote a message, or is writing or reading one, to whom, and with which app. */
function listSpokenOf(item: unknown): readonly unknown[] {
  const event = asObject(item)
  const message = asObject(event['message_create'])
  return [
    message['sender_id'],
    asObject(message['target'])['recipient_id'],
    message['source_app_id'],
    event['sender_id'],
    asObject(event['target'])['recipient_id'],
  ]
}

function asObject(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
}

/** `tweet_create_events`, `direct_message_events`, … */
function listLists(json: JsonBody | undefined): readonly string[] {
  const body = json?.findValue([])
  if (typeof body !== 'object' || body === null) return []
  return Object.entries(body)
    .filter(([name, value]) => name.endsWith('_events') && Array.isArray(value))
    .map(([name]) => name)
}

interface Item {
  readonly list: string
  readonly bytes: Uint8Array
}

/** The one event of a body, and the name of the list it is in. */
const findItem = oncePerReading(({ json }): Item | undefined => {
  const list = listLists(json)[0]
  const bytes = list === undefined ? undefined : json?.findNode([list, 0])?.bytes
  return list === undefined || bytes === undefined ? undefined : { list, bytes }
})

function findKey(reading: Reading): string | undefined {
  const item = findItem(reading)
  const { json } = reading
  if (item !== undefined) return keyOfItem(item)
  // X Activity: one post makes events of several types, all with the id of the post.
  const uuid = json?.findText(['data', 'event_uuid'])
  if (uuid !== undefined) return JSON.stringify([findType(reading), uuid])
  const post = json?.findText(['data', 'id'])
  if (post !== undefined) return JSON.stringify(['post', post])
  return undefined
}

/** A post and a message have an id. Of the others some have, and all have a time and who did it to whom. */
function keyOfItem({ list, bytes }: Item): string {
  const item = JsonBody.find(bytes)
  const id = item?.findText(['id_str']) ?? item?.findText(['id'])
  if (id !== undefined && HAVE_IDS.includes(list)) return JSON.stringify([list, id])
  const time = item?.findText(['created_timestamp']) ?? item?.findText(['timestamp_ms'])
  if (item === undefined || time === undefined) {
    return JSON.stringify([list, createHash('sha256').update(bytes).digest('hex')])
  }
  const parts = PARTIES.map((path) => item.findText(path) ?? null)
  return JSON.stringify([list, time, id ?? null, ...parts])
}

const HAVE_IDS: readonly string[] = ['tweet_create_events', 'direct_message_events']

const PARTIES = [
  ['type'],
  ['source', 'id'],
  ['target', 'id'],
  ['sender_id'],
  ['target', 'recipient_id'],
  ['last_read_event_id'],
  ['status', 'id'],
  ['user', 'id_str'],
  ['favorited_status', 'id_str'],
]

function findType(reading: Reading): string | undefined {
  const list = findItem(reading)?.list
  if (list !== undefined) return list
  const { json } = reading
  if (json?.findValue(['user_event']) !== undefined) return 'user_event'
  const type = json?.findText(['data', 'event_type'])
  return type ?? (json?.findText(['data', 'id']) === undefined ? undefined : 'post')
}

const CREATED_AT = /^\w{3} \w{3} \d\d \d\d:\d\d:\d\d \+0000 \d{4}$/

function findTime(reading: Reading): string | undefined {
  const item = findItem(reading)
  const { json } = reading
  if (item === undefined) {
    const paths = [
      ['data', 'payload', 'timestamp_ms'],
      ['data', 'payload', 'created_at'],
      ['data', 'created_at'],
    ]
    return paths.map((path) => json?.findText(path)).find((text) => text !== undefined)
  }
  const body = JsonBody.find(item.bytes)
  const time = body?.findText(['created_timestamp']) ?? body?.findText(['timestamp_ms'])
  const written = body?.findText(['created_at']) ?? ''
  if (time !== undefined || !CREATED_AT.test(written)) return time
  return String(Date.parse(written))
}
