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
import { JsonBody } from '../../body/json-body.ts'
import type { JsonNode } from '../../body/json-node.ts'
import type { Reading } from '../../body/json-path.ts'
import { Beside, BESIDE_BYTES_MAX } from '../beside.ts'
import { defineProvider } from '../define-provider.ts'
import type { Provider } from '../define-provider.ts'
import type { SecretOptions } from '../define-source.ts'
import { textAnswer } from '../handshake.ts'
import type { BatchPart } from '../identification.ts'
import { oncePerReading } from '../once-per-reading.ts'
import { hmacSignature } from '../schemes/hmac-signature.ts'

/**
 * Meta's webhooks.
 *
 * A message is known by its id, a status by the message's id and the status, a Messenger item by its
 * `mid`, and that it was unsent by the `mid` and `deleted`; what has no id, such as a change of a page's feed, by the
 * hash of its content.
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

function cutUpdates({ json }: Reading): Iterable<BatchPart> | undefined {
  const entries = json?.findNode(['entry'])
  if (!Array.isArray(entries?.value)) return undefined
  return cutEntries(entries, shortText(json?.findNode(['object'])))
}

function* cutEntries(entries: JsonNode, object: string): Generator<BatchPart, void> {
  for (const entry of entries.walkElements())
    for (const text of cutEntry(entry))
      yield { bytes: Buffer.from(`{"object":${object},"entry":[${text}]}`, 'utf8') }
}

/** An entry for each of its updates, with its other members beside it. */
function* cutEntry(entry: JsonNode): Generator<string, void> {
  const lists = listLists(entry, ENTRY_LISTS)
  if (lists.length === 0) {
    yield entry.source
    return
  }
  const beside = new Beside(entry, {
    lists: new Set(ENTRY_LISTS),
    count: countUpdates(lists),
  })
  for (const [name, list] of lists)
    for (const item of list.walkElements())
      for (const text of name === 'changes' ? cutChange(item) : [item.source])
        yield beside.writeAround(name, text)
}

/** A change for each of its messages and statuses; a change without any is one update. */
function* cutChange(change: JsonNode): Generator<string, void> {
  const members = new Map(change.listMembers())
  const value = members.get('value')
  const lists = value === undefined ? [] : listLists(value, ITEM_LISTS)
  const count = countItems(lists)
  if (value === undefined || count === 0) {
    yield change.source
    return
  }
  const field = shortText(members.get('field'))
  const beside = new Beside(value, {
    lists: new Set(ITEM_LISTS),
    count,
    directories: { contacts: (_, contact) => memberOf(contact, 'wa_id') },
  })
  for (const [name, list] of lists)
    for (const item of list.walkElements()) {
      const people = ['from', 'recipient_id'].map((person) => memberOf(item.value, person))
      yield `{"value":${beside.writeAround(name, item.source, people)},"field":${field}}`
    }
}

type NamedList = readonly [name: string, list: JsonNode]

function listLists(object: JsonNode, names: readonly string[]): readonly NamedList[] {
  const members = new Map(object.listMembers())
  return names.flatMap((name) => {
    const list = members.get(name)
    return list !== undefined && Array.isArray(list.value) ? [[name, list] as const] : []
  })
}

function countItems(lists: readonly NamedList[]): number {
  return lists.reduce((count, [, { value }]) => count + (value as readonly unknown[]).length, 0)
}

/** How many events an entry makes, from what is parsed already. */
function countUpdates(lists: readonly NamedList[]): number {
  let count = 0
  for (const [name, { value }] of lists)
    for (const item of value as readonly unknown[])
      count += name === 'changes' ? countItemsOf(memberOf(item, 'value')) : 1
  return count
}

function countItemsOf(value: unknown): number {
  const items = ITEM_LISTS.flatMap((name) => {
    const list = memberOf(value, name)
    return Array.isArray(list) ? [list.length] : []
  })
  return items.reduce((count, length) => count + length, 0) || 1
}

function memberOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? (value as Readonly<Record<string, unknown>>)[name]
    : undefined
}

/** Of `object` and `field`, which each update has. */
function shortText(node: JsonNode | undefined): string {
  return node === undefined || node.bytes.byteLength > BESIDE_BYTES_MAX ? 'null' : node.source
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

const findUpdate = oncePerReading(({ json }): Update | undefined => {
  for (const [kind, path] of UPDATES) {
    const bytes = json?.findNode(path)?.bytes
    if (bytes !== undefined) return { kind, bytes }
  }
  return undefined
})

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
  // A message that was unsent comes again under its `mid`: that is another event, and its text is to be deleted.
  if (id !== undefined && item.findText(['message', 'is_deleted']) === 'true')
    return `${id}|deleted`
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
