/**
 * Meta (WhatsApp, Messenger, Instagram, Facebook): `x-hub-signature-256: sha256=<hex>` over the body.
 *
 * One request may carry a thousand updates of several accounts, and a retry may group them otherwise. So
 * every message, status and change is an event of its own, in a body of its own that has the shape of a
 * request with nothing else in it.
 *
 * @module
 */

import { createHash } from 'node:crypto'
import { JsonBody } from '../verify/json-body.ts'
import type { Reading } from '../verify/json-path.ts'
import { EVERY } from '../verify/json-tokens.ts'
import { defineProvider } from './define-provider.ts'
import type { Provider } from './define-provider.ts'
import type { SecretOptions } from './define-source.ts'
import { textAnswer } from './handshake.ts'
import type { BatchPart } from './identification.ts'
import { hmacSignature } from './schemes/hmac-signature.ts'

/**
 * Meta's webhooks.
 *
 * A message is known by its id, a status by the message's id and the status, a Messenger item by its
 * `mid`; what has no id, such as a change of a page's feed, by the hash of its content.
 */
export const meta: Provider<MetaOptions, MetaEvents> = defineProvider({
  provider: 'meta',
  verify: hmacSignature({
    signature: 'header:x-hub-signature-256',
    prefix: 'sha256=',
    algorithm: 'sha256',
    encoding: 'hex',
    signed: '{body}',
  }),
  options: {
    verifyToken: {
      kind: 'text',
      summary: 'the token you chose for the subscription’s handshake; not the app secret',
    },
  },
  handshake: {
    summary:
      'a GET with `hub.mode=subscribe`, `hub.verify_token` and `hub.challenge`; answered 200 with the challenge as plain text, 401 for another token',
    method: 'GET',
    when: ['query:hub.mode', 'subscribe'],
    token: { at: 'query:hub.verify_token', option: 'verifyToken' },
    answer: ({ find }) => textAnswer(find('query:hub.challenge')),
  },
  batch: cutUpdates,
  key: findKey,
  scope: 'json:$.entry[0].id',
  type: findType,
  occurredAt: [
    'json:$.entry[0].changes[0].value.messages[0].timestamp',
    'json:$.entry[0].changes[0].value.statuses[0].timestamp',
    'json:$.entry[0].messaging[0].timestamp',
    'json:$.entry[0].time',
  ],
  // The time of the entry, and what stands beside the update, belong to the request.
  content: (reading) => findUpdate(reading)?.bytes,
  // "Webhooks payloads can be up to 3 MB."
  bodyBytesMax: 3_145_728,
  retryWindowHours: 168,
})

/** A request with one update in it. */
export interface MetaPayload {
  readonly object: string
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly entry: readonly [Record<string, any>]
}

/** The payloads of Meta by event type. Give `meta` a map of your own for exact ones. */
export type MetaEvents = Readonly<Record<string, MetaPayload>>

/** What `meta` is configured with. */
export interface MetaOptions extends SecretOptions {
  /**
   * The token you chose for the handshake.
   *
   * @defaultValue any of `secrets` is taken, which is not advised: the token travels in a URL
   */
  readonly verifyToken?: string
}

/** Lists of items that have an id of their own, wherever they are. */
const ITEM_LISTS = ['messages', 'statuses'] as const
const ENTRY_LISTS = ['messaging', 'standby', 'changes'] as const

function cutUpdates({ json }: Reading): readonly BatchPart[] | undefined {
  if (!Array.isArray(json?.findValue(['entry']))) return undefined
  const object = textOf(json?.listSlices(['object'])[0])
  return (json?.listSlices(['entry', EVERY]) ?? []).flatMap((entry) =>
    cutEntry(entry).map((text) => ({
      bytes: Buffer.from(`{"object":${object ?? 'null'},"entry":[${text}]}`, 'utf8'),
    })),
  )
}

/** An entry for each of its updates, with its other members beside it. */
function cutEntry(bytes: Uint8Array): readonly string[] {
  const entry = JsonBody.find(bytes)
  const lists = ENTRY_LISTS.filter((name) => Array.isArray(entry?.findValue([name])))
  if (entry === undefined || lists.length === 0) return [textOf(bytes) ?? 'null']
  return lists.flatMap((list) =>
    entry
      .listSlices([list, EVERY])
      .flatMap((item) => (list === 'changes' ? cutChange(item) : [textOf(item) ?? 'null']))
      .map((item) => writeAround(entry, ENTRY_LISTS, list, item)),
  )
}

/** A change for each of its messages and statuses; a change without any is one update. */
function cutChange(bytes: Uint8Array): readonly string[] {
  const change = JsonBody.find(bytes)
  const value = JsonBody.find(change?.listSlices(['value'])[0] ?? new Uint8Array())
  const lists = ITEM_LISTS.filter((name) => Array.isArray(value?.findValue([name])))
  const items = lists.flatMap((list) =>
    (value?.listSlices([list, EVERY]) ?? []).map((item) => ({ list, text: textOf(item) ?? '' })),
  )
  if (change === undefined || value === undefined || items.length === 0) {
    return [textOf(bytes) ?? 'null']
  }
  return items.map(({ list, text }) => {
    const inner = writeAround(value, ITEM_LISTS, list, text)
    return `{"value":${inner},"field":${textOf(change.listSlices(['field'])[0]) ?? 'null'}}`
  })
}

/** An object with one item in one of its lists, without the other lists, every member as it was written. */
function writeAround(json: JsonBody, lists: readonly string[], list: string, item: string): string {
  const names = Object.keys(json.findValue([]) as object).filter((name) => !lists.includes(name))
  const members = names.map(
    (name) => `${JSON.stringify(name)}:${textOf(json.listSlices([name])[0]) ?? 'null'}`,
  )
  return `{${[...members, `${JSON.stringify(list)}:[${item}]`].join(',')}}`
}

function textOf(bytes: Uint8Array | undefined): string | undefined {
  return bytes && Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8')
}

interface Update {
  readonly kind: 'messages' | 'statuses' | 'changes' | 'messaging' | 'standby'
  readonly bytes: Uint8Array
}

const UPDATES = [
  ['messages', ['entry', 0, 'changes', 0, 'value', 'messages', 0]],
  ['statuses', ['entry', 0, 'changes', 0, 'value', 'statuses', 0]],
  ['changes', ['entry', 0, 'changes', 0]],
  ['messaging', ['entry', 0, 'messaging', 0]],
  ['standby', ['entry', 0, 'standby', 0]],
] as const

function findUpdate({ json }: Reading): Update | undefined {
  for (const [kind, path] of UPDATES) {
    const bytes = json?.listSlices(path)[0]
    if (bytes !== undefined) return { kind, bytes }
  }
  return undefined
}

function findKey(reading: Reading): string | undefined {
  const update = findUpdate(reading)
  const item = update && JsonBody.find(update.bytes)
  if (update === undefined || item === undefined) return undefined
  const id = item.findText(['id']) ?? item.findText(['message', 'mid'])
  if (update.kind === 'statuses') {
    // A status has the id of its message.
    const status = item.findText(['status'])
    return id === undefined || status === undefined ? undefined : `${id}|${status}`
  }
  if (id !== undefined && update.kind !== 'changes') return id
  return `${update.kind}_${createHash('sha256').update(update.bytes).digest('hex')}`
}

/** `whatsapp_business_account.messages`, `page.feed`, `page.messaging.message`. */
function findType(reading: Reading): string | undefined {
  const object = reading.json?.findText(['object'])
  const update = findUpdate(reading)
  if (object === undefined || update === undefined) return object
  const field = reading.json?.findText(['entry', 0, 'changes', 0, 'field'])
  if (update.kind === 'messages' || update.kind === 'statuses') return `${object}.${update.kind}`
  if (update.kind === 'changes') return field === undefined ? object : `${object}.${field}`
  return `${object}.${update.kind}`
}
