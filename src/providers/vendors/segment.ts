/**
 * Segment's webhook destinations: `x-signature: <hex>`, HMAC-SHA-1 over the event.
 *
 * Of a batch only the first event is signed: a person who has seen one signed event can put any others behind
 * it. Segment can also send headers of yours. With `authorization` a delivery must show that value, and
 * all events of a batch are believed; without it those behind the first are kept and not run, as events
 * without a key. Refusing the batch would be worse: Segment drops what gets a 4xx.
 *
 * @module
 */

import { findHeader } from '../../model/delivery.ts'
import type { Delivery } from '../../model/delivery.ts'
import type { VerdictReason } from '../../model/source.ts'
import { ClaimedJson } from '../../body/claimed-json.ts'
import type { Reading } from '../../body/json-path.ts'
import { skipSpace, skipValue } from '../../body/json-tokens.ts'
import { isSameText } from '../../verify/token.ts'
import { defineProvider } from '../define-provider.ts'
import type { Provider } from '../define-provider.ts'
import type { SecretOptions } from '../define-source.ts'
import { hmacSignature } from '../schemes/hmac-signature.ts'
import { withCheck } from '../schemes/with-check.ts'

/** Segment's webhooks. Every event is known by its `messageId`. */
export const segment: Provider<SegmentOptions, SegmentEvents> = defineProvider({
  provider: 'segment',
  verify: withCheck(
    hmacSignature({
      signature: 'header:x-signature',
      algorithm: 'sha1',
      encoding: 'hex',
      signed: renderSigned,
    }),
    { headers: ['authorization'], check: findFault },
  ),
  options: {
    authorization: {
      kind: 'text',
      summary:
        'the value of the `authorization` header that you have Segment send; with it all events of a batch are believed, and without it only the first',
    },
  },
  // Chosen where the destination is configured.
  methods: ['POST', 'PUT', 'PATCH'],
  batch: '$[*]',
  key: (reading) => (isBelieved(reading) ? reading.json?.findText(['messageId']) : undefined),
  scope: 'json:$.projectId',
  type: { join: ['json:$.type', 'json:$.event'], with: '.' },
  occurredAt: ['json:$.timestamp', 'json:$.originalTimestamp'],
  // Set when Segment gets an event, so they differ when a library sends one to Segment again.
  volatile: ['$.receivedAt', '$.sentAt', '$.timestamp'],
  retryWindowHours: 4,
  timeoutSeconds: 5,
  warnings: ({ authorization }) =>
    authorization === undefined
      ? [
          'segment has no authorization: of a batch only the first event is signed, and the others are kept without being run. Turn batching off, or give it one.',
        ]
      : [],
})

/** What a call has, where the mapping leaves it as it is. */
export interface SegmentPayload {
  readonly messageId: string
  /** `track`, `identify`, `page`, `screen`, `group`, `alias` */
  readonly type: string
  /** The name, for `track`. */
  readonly event?: string
  readonly userId?: string | null
  readonly anonymousId?: string | null
  readonly timestamp?: string
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly [member: string]: any
}

/** `track.Order Completed`, `identify`, … */
export type SegmentEvents = Readonly<Record<string, SegmentPayload>>

/** What `segment` is configured with. */
export interface SegmentOptions extends SecretOptions {
  /**
   * The whole value of the `authorization` header that you have Segment send, such as `Bearer …`. Needed
   * for batches: left out, only the first event of one is believed.
   */
  readonly authorization?: string
}

/** The bytes of the first event, be it alone or the first of a batch. */
function renderSigned({ delivery: { body } }: Reading): readonly Uint8Array[] | VerdictReason {
  const start = skipSpace(body, 0)
  if (body[start] !== OPEN_BRACKET) return [body]
  const first = skipSpace(body, start + 1)
  // What stands behind the first is not signed: once that one is found to be, all of it has to be JSON.
  const isList = ClaimedJson.find(body) !== undefined && body[first] !== CLOSE_BRACKET
  return isList ? [body.subarray(first, skipValue(body, first))] : 'malformed-body'
}

const OPEN_BRACKET = 0x5b
const CLOSE_BRACKET = 0x5d

function findFault(
  delivery: Delivery,
  { authorization }: Readonly<Record<string, unknown>>,
): VerdictReason | undefined {
  if (typeof authorization !== 'string') return undefined
  const shown = findHeader(delivery, 'authorization')
  if (shown === undefined) return 'missing-header'
  return isSameText(shown, authorization) ? undefined : 'bad-token'
}

function isBelieved({ index, options }: Reading): boolean {
  return index === 0 || options['authorization'] !== undefined
}
