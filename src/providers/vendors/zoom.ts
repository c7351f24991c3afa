/**
 * Zoom: `x-zm-signature: v0=<hex>` over `v0:<timestamp>:<body>`. Zoom's own libraries sign the body as
 * they would write it again; the bytes that arrived are what counts here.
 *
 * There is no event id. Two sendings of one event are told to differ in their download links and tokens
 * (a thread of Zoom's forum), so the body's hash is none either: an event is known by its name, its time
 * and all the ids that stand in its payload.
 *
 * @module
 */

import { createHash } from 'node:crypto'
import type { JsonNode } from '../../body/json-node.ts'
import type { Reading } from '../../body/json-path.ts'
import { defineProvider } from '../define-provider.ts'
import type { Provider } from '../define-provider.ts'
import type { SecretOptions } from '../define-source.ts'
import { jsonAnswer } from '../handshake.ts'
import type { HandshakeContext } from '../handshake.ts'
import { hmacSignature } from '../schemes/hmac-signature.ts'

/** Zoom's webhooks, of every product. */
export const zoom: Provider<ZoomOptions, ZoomEvents> = defineProvider({
  provider: 'zoom',
  verify: hmacSignature({
    signature: 'header:x-zm-signature',
    prefix: 'v0=',
    algorithm: 'sha256',
    encoding: 'lower-hex',
    // Zoom's own library asks for no window. It retries for 85 minutes, with a time that is not documented.
    timestamp: {
      at: 'header:x-zm-request-timestamp',
      format: 'seconds',
      toleranceSeconds: 7_200,
      aheadSeconds: 300,
      outside: 'quarantine',
    },
    signed: 'v0:{timestamp}:{body}',
  }),
  handshake: {
    summary:
      'a signed POST of the event `endpoint.url_validation`, repeated every 72 hours; answered 200 with `plainToken` and its HMAC as `encryptedToken`',
    when: ['json:$.event', 'endpoint.url_validation'],
    signed: true,
    answer: answerValidation,
  },
  key: findKey,
  scope: 'json:$.payload.account_id',
  type: 'json:$.event',
  occurredAt: 'json:$.event_ts',
  version: 'json:$.event_ts',
  volatile: [
    '$.download_token',
    '$.payload.object.recording_files[*].download_url',
    '$.payload.object.participant_audio_files[*].download_url',
  ],
  retryWindowHours: 1.5,
  timeoutSeconds: 3,
})

/** What an event of Zoom carries, as far as it is typed here. */
export interface ZoomPayload {
  readonly event: string
  /** Milliseconds since 1970. */
  readonly event_ts: number
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly payload: Record<string, any>
  /** For recordings: what their download asks for. */
  readonly download_token?: string
}

/** The payloads of Zoom by event type. Give `zoom` a map of your own for exact ones. */
export type ZoomEvents = Readonly<Record<string, ZoomPayload>>

/** What `zoom` is configured with. */
export type ZoomOptions = SecretOptions

/** A token of this shape cannot be `v0:<timestamp>:<body>`, so what we answer is never a signature. */
const PLAIN_TOKEN = /^[\w+/=-]{1,256}$/

function answerValidation({ find, hmac }: HandshakeContext) {
  const plainToken = find('json:$.payload.plainToken')
  if (!PLAIN_TOKEN.test(plainToken)) return 'refuse'
  return jsonAnswer({ plainToken, encryptedToken: hmac('sha256', plainToken, 'hex') })
}

function findKey({ json }: Reading): string | undefined {
  const event = json?.findText(['event'])
  const time = json?.findText(['event_ts'])
  if (json === undefined || event === undefined || time === undefined) return undefined
  const payload = json.findNode(['payload'])
  const ids = payload === undefined ? [] : listIds(payload, DEPTH_MAX)
  const hash = createHash('sha256')
  hash.update(ids.length > 0 ? JSON.stringify(ids) : (payload?.bytes ?? ''))
  return JSON.stringify([event, time, hash.digest('hex')])
}

type Step = string | number

/** What is named here: an id, or the ids below it. A path for each id would repeat every name above it. */
type Ids = readonly (readonly [Step, string | Ids])[]

const DEPTH_MAX = 6

/** Every id below a place, with the way to it: a meeting's, a participant's, a registrant's, a call's. */
function listIds(node: JsonNode, depthMax: number): Ids {
  const found: (readonly [Step, string | Ids])[] = []
  for (const [step, child] of listChildren(node)) {
    const id = typeof step === 'string' && ID.test(step) ? child.findText() : undefined
    const below = id ?? (depthMax > 1 ? listIds(child, depthMax - 1) : [])
    if (below.length > 0) found.push([step, below])
  }
  return found
}

/** In an order that does not go by how they were written. */
function listChildren(node: JsonNode): readonly (readonly [Step, JsonNode])[] {
  if (Array.isArray(node.value)) return [...node.walkElements()].map((one, index) => [index, one])
  return [...node.listMembers()].sort(([a], [b]) => (a < b ? -1 : 1))
}

const ID = /^(?:uu)?id$|_(?:uu)?id$/
