/**
 * Mailgun: HMAC over a timestamp and a token, all three of them in the body. The event itself is NOT
 * signed: a person who has seen one signature can put any event beside it. What is done about it:
 *
 * - a signature has an end: nine hours after its time it is stale;
 * - a token that came with one event is a conflict with another;
 * - the rest is TLS's to keep, and where something hangs on an event, read it again through the API.
 *
 * Routes post inbound messages as forms with the same three fields. With attachments they are multipart,
 * which is not read, and refused.
 *
 * @module
 */

import { createHash } from 'node:crypto'
import { findFormField, findFormFields } from '../../body/form-body.ts'
import { UnverifiedReading } from '../../body/json-path.ts'
import type { Reading } from '../../body/json-path.ts'
import { defineProvider } from '../define-provider.ts'
import type { Provider } from '../define-provider.ts'
import type { SecretOptions } from '../define-source.ts'
import { hmacSignature } from '../schemes/hmac-signature.ts'
import type { Verification } from '../schemes/verification.ts'

/**
 * Mailgun's webhooks and routes.
 *
 * An event is known by its id within its day, since Mailgun promises no more; an inbound message by its
 * `Message-Id`, its recipient and its content: the author of a mail chooses its `Message-Id`, so that alone
 * would let a stranger's mail stand in the way of another.
 */
export const mailgun: Provider<MailgunOptions, MailgunEvents> = defineProvider({
  provider: 'mailgun',
  verify: ofEventsOrForms(
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
  deliveryKey: ['json:$.signature.token', (reading) => findInField(reading, 'token')],
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

function ofEventsOrForms(ofEvents: Verification, ofForms: Verification): Verification {
  return {
    ...ofEvents,
    summary: `${ofEvents.summary} over a timestamp and a token; the event is not signed`,
    build(context) {
      const events = ofEvents.build(context)
      const forms = ofForms.build(context)
      return {
        ...events,
        verify: (delivery) =>
          (new UnverifiedReading(delivery).json === undefined ? forms : events).verify(delivery),
      }
    },
  }
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
  const content = findContent(reading)
  if (content === undefined || findInbound(reading) === undefined) return undefined
  return JSON.stringify([
    findInField(reading, 'Message-Id') ?? null,
    findInField(reading, 'recipient') ?? null,
    createHash('sha256').update(content).digest('hex'),
  ])
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
