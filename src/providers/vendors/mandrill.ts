/**
 * Mailchimp Transactional (Mandrill): HMAC-SHA-1 over the webhook's URL and the form's fields, sorted,
 * name and value with nothing between. The URL is the one that was entered, byte for byte, so it comes
 * from the configuration.
 *
 * The events are a JSON list in the field `mandrill_events`, and there is no other field. `_id` is the id of the message, which many
 * events share.
 *
 * @module
 */

import { createHash, createHmac } from 'node:crypto'
import { findHeader } from '../../model/delivery.ts'
import type { VerdictReason } from '../../model/source.ts'
import { findFormBytes, findFormField, findFormNames } from '../../body/form-body.ts'
import { JsonBody } from '../../body/json-body.ts'
import type { Reading } from '../../body/json-path.ts'
import { EVERY } from '../../body/json-tokens.ts'
import { isSameText } from '../../verify/token.ts'
import { defineProvider } from '../define-provider.ts'
import type { Provider } from '../define-provider.ts'
import type { SecretOptions } from '../define-source.ts'
import { emptyAnswer } from '../handshake.ts'
import type { HandshakeContext } from '../handshake.ts'
import type { BatchPart } from '../identification.ts'
import { hmacSignature } from '../schemes/hmac-signature.ts'
import type { PublicUrlOptions } from '../schemes/public-url.ts'

const FIELD = 'mandrill_events'
const SIGNATURE = 'x-mandrill-signature'

/**
 * Mandrill's webhooks. Every element of a delivery is an event, known by its name, message and time; an
 * open or a click also by where it came from. What has no message, such as an inbound mail or a change of
 * a list, is known by the hash of its content.
 */
export const mandrill: Provider<MandrillOptions, MandrillEvents> = defineProvider({
  provider: 'mandrill',
  verify: hmacSignature({
    signature: `header:${SIGNATURE}`,
    algorithm: 'sha1',
    encoding: 'base64',
    usesPublicUrl: true,
    signed: renderSigned,
  }),
  handshake: [
    {
      summary: 'a HEAD of the URL when it is entered; answered 200',
      method: 'HEAD',
      answer: () => emptyAnswer(),
    },
    {
      summary:
        'where the HEAD fails, a POST of an empty list signed with the key `test-webhook`, since there is none yet; answered 200',
      when: [`form:${FIELD}`, '[]'],
      answer: answerTest,
    },
  ],
  batch: cutEvents,
  key: [
    {
      all: [
        'json:$.event',
        'json:$._id',
        'json:$.ts',
        { optional: 'json:$.url' },
        { optional: 'json:$.ip' },
        { optional: 'json:$.user_agent' },
      ],
    },
    findContentKey,
  ],
  type: ['json:$.event', { join: ['json:$.type', 'json:$.action'], with: '.' }],
  occurredAt: 'json:$.ts',
  // Up to a thousand events, each with its message, and all of it escaped for a form.
  bodyBytesMax: 8_388_608,
  // Failed batches are sent again as they were; for how long is not documented.
  retryWindowHours: null,
})

/** One element of `mandrill_events`. */
export interface MandrillPayload {
  readonly event?: string
  /** The id of the message. */
  readonly _id?: string
  /** Seconds since 1970. */
  readonly ts: number
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly msg?: Record<string, any>
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly [member: string]: any
}

/** The payloads of Mailchimp Transactional by event type. Give `mandrill` a map of your own for exact ones. */
export type MandrillEvents = Readonly<Record<string, MandrillPayload>>

/** What `mandrill` is configured with. */
export type MandrillOptions = SecretOptions & PublicUrlOptions

function renderSigned(
  { delivery }: Reading,
  { publicUrl }: { readonly publicUrl: string },
): readonly Uint8Array[] | VerdictReason {
  const names = findFormNames(delivery.body) ?? []
  // With a second field the text of an event, a subject for instance, could be read as a list of events.
  const value = names.length === 1 ? findFormBytes(delivery.body, FIELD) : undefined
  return value === undefined
    ? 'malformed-body'
    : [Buffer.from(`${publicUrl}${FIELD}`, 'utf8'), value]
}

/** Of an element. What is no list has none: its bytes may be escaped in many ways under one signature. */
function findContentKey({ bytes, root, json }: Reading): string | undefined {
  if (root === json) return undefined
  return `content_${createHash('sha256').update(bytes).digest('hex')}`
}

/** The key is published, so it is good for an empty list and nothing else. */
function answerTest({ delivery, options }: HandshakeContext) {
  const expected = createHmac('sha1', 'test-webhook')
    .update(`${String(options['publicUrl'])}${FIELD}[]`, 'utf8')
    .digest('base64')
  return isSameText(findHeader(delivery, SIGNATURE) ?? '', expected) ? emptyAnswer() : undefined
}

function cutEvents({ delivery }: Reading): Iterable<BatchPart> | undefined {
  const field = findFormField(delivery.body, FIELD)
  const json = field === undefined ? undefined : JsonBody.find(Buffer.from(field, 'utf8'))
  return json !== undefined && Array.isArray(json.findValue([])) ? cutList(json) : undefined
}

function* cutList(json: JsonBody): Generator<BatchPart, void> {
  for (const bytes of json.walkSlices([EVERY])) yield { bytes, bodyType: 'application/json' }
}
