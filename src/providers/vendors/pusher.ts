/**
 * Pusher Channels, and Beams: `x-pusher-signature: <hex>` over the body, by the secret of the key that
 * `x-pusher-key` names.
 *
 * As in Pusher's own library a delivery must name a key of ours and be `application/json`, to the letter.
 *
 * Events of Channels have no id. One is known by the time of its delivery, which a retry keeps, and its
 * content. Two equal events of one delivery are two: the second of them is known as the second.
 *
 * @module
 */

import { createHash } from 'node:crypto'
import { findHeader } from '../../model/delivery.ts'
import type { JsonBody } from '../../body/json-body.ts'
import type { Reading } from '../../body/json-path.ts'
import { EVERY } from '../../body/json-tokens.ts'
import { defineProvider } from '../define-provider.ts'
import type { Provider } from '../define-provider.ts'
import type { SecretOptions } from '../define-source.ts'
import { hmacSignature } from '../schemes/hmac-signature.ts'
import type { Verification } from '../schemes/verification.ts'

/** Pusher's webhooks. Every event of a delivery is stored by itself. */
export const pusher: Provider<PusherOptions, PusherEvents> = defineProvider({
  provider: 'pusher',
  verify: ofOwnKeys(
    hmacSignature({
      signature: 'header:x-pusher-signature',
      algorithm: 'sha256',
      encoding: 'lower-hex',
      signed: '{body}',
    }),
  ),
  options: {
    keys: {
      kind: 'texts',
      summary: 'the keys of your app, which belong to `secrets`: deliveries of others are refused',
    },
  },
  batch: '$.events[*]',
  key: [
    'json:$.metadata.event_id',
    { all: ['root:$.time_ms', findContentId] },
    // The older hooks of Beams.
    { all: ['json:$.publishId', 'json:$.status'] },
  ],
  type: ['json:$.name', 'json:$.metadata.event_type', 'json:$.status'],
  occurredAt: ['root:$.time_ms', 'json:$.metadata.created_at'],
  // Five minutes; eight for Beams.
  retryWindowHours: 0.2,
  timeoutSeconds: 4,
  warnings: ({ keys }) =>
    keys === undefined ? ['pusher has no keys: which key a delivery names is not checked.'] : [],
})

/** One of `events` of Channels, or the whole body of Beams. */
export interface PusherPayload {
  readonly name?: string
  readonly channel?: string
  readonly user_id?: string
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly metadata?: Record<string, any>
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly [member: string]: any
}

/** The payloads of Pusher Channels and Beams by event type. Give `pusher` a map of your own for exact ones. */
export type PusherEvents = Readonly<Record<string, PusherPayload>>

/** What `pusher` is configured with. */
export interface PusherOptions extends SecretOptions {
  /** The keys of your app. Without them any key is taken with a signature that holds, which is warned about. */
  readonly keys?: readonly string[]
}

/** A proxy may add the charset. JSON has but this one. */
const JSON_TYPE = /^application\/json(?:[ \t]{0,8};[ \t]{0,8}charset="?utf-8"?)?$/i

function ofOwnKeys(verification: Verification): Verification {
  return {
    ...verification,
    headers: [...verification.headers, 'x-pusher-key', 'content-type'],
    build(context) {
      const built = verification.build(context)
      const keys = context.options['keys'] as readonly string[] | undefined
      return {
        ...built,
        verify(delivery) {
          const key = findHeader(delivery, 'x-pusher-key')
          if (!key) return { ok: false, reason: 'missing-header' }
          if (keys?.includes(key) === false) return { ok: false, reason: 'unknown-key' }
          const isJson = JSON_TYPE.test(findHeader(delivery, 'content-type') ?? '')
          return isJson ? built.verify(delivery) : { ok: false, reason: 'malformed-body' }
        },
      }
    },
  }
}

/** What each event of a body is known by, found once for all of them. */
const CONTENT_IDS = new WeakMap<JsonBody, readonly string[]>()

function findContentId({ root, index }: Reading): string | undefined {
  if (root === undefined) return undefined
  const ids = CONTENT_IDS.get(root) ?? listContentIds(root)
  CONTENT_IDS.set(root, ids)
  return ids[index]
}

function listContentIds(root: JsonBody): readonly string[] {
  const counts = new Map<string, number>()
  return root.listSlices(['events', EVERY]).map((bytes) => {
    const hash = createHash('sha256').update(bytes).digest('hex')
    const earlier = counts.get(hash) ?? 0
    counts.set(hash, earlier + 1)
    return earlier === 0 ? hash : `${hash}.${earlier}`
  })
}
