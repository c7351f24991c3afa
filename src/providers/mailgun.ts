/**
 * Mailgun: HMAC over a timestamp and a token, all three of them in the body. The event itself is NOT
 * signed: whoever has seen one signature can put any event beside it. What is done about it:
 *
 * - a signature has an end: nine hours after its time it is stale;
 * - a token that came with one event is refused with another, as far as this process remembers;
 * - the rest is TLS's to keep, and where something hangs on an event, read it again through the API.
 *
 * Routes post inbound messages as forms with the same three fields. With attachments they are multipart,
 * which is not read, and refused.
 *
 * @module
 */

import { findFormField, findFormFields } from '../verify/form-body.ts'
import { Reading, UnverifiedReading } from '../verify/json-path.ts'
import { defineProvider } from './define-provider.ts'
import type { Provider } from './define-provider.ts'
import type { SecretOptions } from './define-source.ts'
import { hmacSignature } from './schemes/hmac-signature.ts'
import type { Verification } from './schemes/verification.ts'

/**
 * Mailgun's webhooks and routes.
 *
 * An event is known by its id within its day, since Mailgun promises no more; an inbound message by its
 * `Message-Id` and recipient.
 */
export const mailgun: Provider<MailgunOptions, MailgunEvents> = defineProvider({
  provider: 'mailgun',
  verify: withFreshTokens(
    signatureAt({
      // The second is made with the key of the primary account, for events of its subaccounts.
      signature: ['json:$.signature.signature', 'json:$.signature.parent-signature'],
      timestamp: 'json:$.signature.timestamp',
      token: 'json:$.signature.token',
    }),
    signatureAt({
      signature: ['form:signature'],
      timestamp: 'form:timestamp',
      token: 'form:token',
    }),
  ),
  key: [{ all: [findDay, 'json:$.event-data.id'] }, findInboundKey],
  scope: 'json:$.event-data.account.id',
  type: ['json:$.event-data.event', findInbound],
  occurredAt: ['json:$.event-data.timestamp', (reading) => findInField(reading, 'timestamp')],
  content: findContent,
  retryWindowHours: 8,
})

/** What an event of Mailgun carries, as far as it is typed here. */
export interface MailgunPayload {
  /** Left out for inbound messages, whose fields stand beside each other. */
  readonly 'event-data': {
    readonly event: string
    readonly id: string
    /** Seconds since 1970, with a fraction. */
    readonly timestamp: number
    // eslint-disable-next-line @typescript-eslint/no-explicit-any
    readonly [member: string]: any
  }
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly [member: string]: any
}

/** The payloads of Mailgun by event type. Give `mailgun` a map of your own for exact ones. */
export type MailgunEvents = Readonly<Record<string, MailgunPayload>>

/** What `mailgun` is configured with. */
export type MailgunOptions = SecretOptions

function signatureAt(places: {
  readonly signature: readonly string[]
  readonly timestamp: string
  readonly token: string
}): Verification {
  return hmacSignature({
    signature: places.signature,
    algorithm: 'sha256',
    encoding: 'hex',
    // It retries for eight hours, and whether a retry is signed anew is not documented.
    timestamp: {
      at: places.timestamp,
      format: 'seconds',
      toleranceSeconds: 32_400,
      aheadSeconds: 300,
    },
    signed: `{timestamp}{${places.token}}`,
  })
}

/** More than are sent in minutes; beyond it the oldest are forgotten. At 100 bytes each it is 2 MB. */
const TOKENS_MAX = 20_000

function withFreshTokens(ofEvents: Verification, ofForms: Verification): Verification {
  return {
    ...ofEvents,
    summary: `${ofEvents.summary} over a timestamp and a token; the event is not signed`,
    build(context) {
      const events = ofEvents.build(context)
      const forms = ofForms.build(context)
      const seen = new Map<string, string>()
      return {
        ...events,
        async verify(delivery) {
          const isForm = new UnverifiedReading(delivery).json === undefined
          const verdict = await (isForm ? forms : events).verify(delivery)
          if (!verdict.ok) return verdict
          const reading = new Reading(delivery)
          const [token, event] = tokenOf(reading)
          const known = seen.get(token)
          // The same event again is a retry, or a replay that its key will stop.
          if (known !== undefined) {
            return known === event ? verdict : { ok: false, reason: 'bad-signature' }
          }
          seen.set(token, event)
          const [oldest] = seen.keys()
          if (seen.size > TOKENS_MAX && oldest !== undefined) seen.delete(oldest)
          return verdict
        },
      }
    },
  }
}

function tokenOf(reading: Reading): readonly [token: string, event: string] {
  const { json } = reading
  const token = json?.findText(['signature', 'token']) ?? findInField(reading, 'token')
  const event = json?.findText(['event-data', 'id']) ?? findInboundKey(reading)
  return [token ?? '', event ?? '']
}

/** The day of the event's own time, in UTC: `20370` days since 1970. */
function findDay({ json }: Reading): string | undefined {
  const seconds = Number(json?.findText(['event-data', 'timestamp']))
  return Number.isFinite(seconds) ? String(Math.floor(seconds / 86_400)) : undefined
}

function findInbound(reading: Reading): string | undefined {
  return findInField(reading, 'token') === undefined ? undefined : 'inbound'
}

/** One message may go to several of your addresses. */
function findInboundKey(reading: Reading): string | undefined {
  const id = findInField(reading, 'Message-Id')
  if (id === undefined) return findInField(reading, 'token')
  return JSON.stringify([id, findInField(reading, 'recipient') ?? null])
}

/** A field of a route's form. JSON is none, whatever its texts look like. */
function findInField({ json, delivery }: Reading, name: string): string | undefined {
  return json === undefined ? findFormField(delivery.body, name) || undefined : undefined
}

const SIGNING = ['timestamp', 'token', 'signature']

/** What is not the signature. */
function findContent({ json, delivery }: Reading): Uint8Array | undefined {
  if (json !== undefined) return json.listSlices(['event-data'])[0]
  const fields = findFormFields(delivery.body)?.filter(([name]) => !SIGNING.includes(name))
  return fields && Buffer.from(JSON.stringify(fields), 'utf8')
}
