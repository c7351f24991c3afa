/**
 * Dropbox: `x-dropbox-signature: <hex>` over the body, which lists the accounts in which something changed.
 *
 * There is no id, no time and nothing of the change: equal bodies are different signals, and nothing
 * tells a retry from a new one. So every signal is an event, known by its account and the millisecond of
 * its arrival. A retry runs again and finds nothing new behind your cursor; were equal bodies one event,
 * changes would be lost. Two signals of one millisecond may be one: what they tell of had happened before
 * either of them was sent.
 *
 * @module
 */

import { createHash } from 'node:crypto'
import type { JsonBody } from '../../body/json-body.ts'
import type { Reading } from '../../body/json-path.ts'
import { EVERY } from '../../body/json-tokens.ts'
import { defineProvider } from '../define-provider.ts'
import type { Provider } from '../define-provider.ts'
import type { SecretOptions } from '../define-source.ts'
import { textAnswer } from '../handshake.ts'
import type { BatchPart } from '../identification.ts'
import { hmacSignature } from '../schemes/hmac-signature.ts'

/** Dropbox's webhooks. Every account of a delivery is an event; read what changed from your cursor. */
export const dropbox: Provider<DropboxOptions, DropboxEvents> = defineProvider({
  provider: 'dropbox',
  verify: hmacSignature({
    signature: 'header:x-dropbox-signature',
    algorithm: 'sha256',
    encoding: 'hex',
    signed: '{body}',
  }),
  handshake: {
    summary:
      'a GET with `challenge`; answered 200 with it as plain text that no browser takes for HTML',
    method: 'GET',
    when: 'query:challenge',
    answer: ({ find }) => textAnswer(find('query:challenge')),
  },
  batch: cutAccounts,
  key: { all: [findSubject, ({ delivery }) => String(delivery.receivedAt.getTime())] },
  type: findType,
  retryWindowHours: 0.2,
  timeoutSeconds: 10,
})

/** A signal for one account. */
export interface DropboxPayload {
  readonly list_folder: { readonly accounts: readonly string[] }
}

/** The payloads of Dropbox by event type. Give `dropbox` a map of your own for exact ones. */
export type DropboxEvents = Readonly<Record<string, DropboxPayload>>

/** What `dropbox` is configured with. */
export type DropboxOptions = SecretOptions

/** `delta` names the same accounts by the numbers of the first API. */
const MEMBERS = ['list_folder', 'delta']

/** A body of the shape of a request for each account. What has more in it stays whole, so that nothing is lost. */
function cutAccounts({ json }: Reading): Iterable<BatchPart> | undefined {
  const root = json?.findValue([])
  const list = json?.findValue(['list_folder'])
  if (json === undefined || !isObject(root) || !isObject(list)) return undefined
  const hasMore =
    Object.keys(root).some((name) => !MEMBERS.includes(name)) ||
    Object.keys(list).some((name) => name !== 'accounts')
  return hasMore || !isListOfTexts(list['accounts']) ? undefined : cutList(json)
}

function* cutList(json: JsonBody): Generator<BatchPart, void> {
  for (const bytes of json.walkSlices(['list_folder', 'accounts', EVERY])) {
    const account = Buffer.from(bytes).toString('utf8')
    yield { bytes: Buffer.from(`{"list_folder":{"accounts":[${account}]}}`, 'utf8') }
  }
}

/** The account; for a body that stayed whole the hash of it. */
function findSubject({ json, root, bytes }: Reading): string | undefined {
  if (root !== json) return json?.findText(['list_folder', 'accounts', 0])
  return createHash('sha256').update(bytes).digest('hex')
}

/** The first member that is no older name of another. */
function findType({ json }: Reading): string | undefined {
  const root = json?.findValue([])
  if (!isObject(root)) return undefined
  return 'list_folder' in root ? 'list_folder' : Object.keys(root)[0]
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isListOfTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((one) => typeof one === 'string' && one !== '')
}
