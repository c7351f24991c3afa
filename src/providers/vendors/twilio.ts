/**
 * Twilio: HMAC-SHA-1 over the URL it called and, for a form, the fields, sorted, name and value with
 * nothing between. A JSON body is covered by its hash in the query (`bodySHA256`), a GET by its query.
 *
 * Host and path come from the configuration. The query is the request's, because Twilio adds to it; where
 * the configured URL has a query, the request's must begin with it. Twilio signs ports and special
 * characters now one way and now another, so the spellings that its own library tries are tried here.
 *
 * With nothing between names and values, `Body=a&To=b` and `Body=aTob` sign the same, and so do a query and
 * the same with an `&` behind it. It takes a captured request to make use of that; TLS keeps those. The
 * content is therefore the text that was signed: whatever is made of a captured request is known as that
 * request.
 *
 * @module
 */

import { createHash } from 'node:crypto'
import { parse, stringify } from 'node:querystring'
import { findHeader } from '../../model/delivery.ts'
import type { VerdictReason } from '../../model/source.ts'
import { findFormField, renderSortedForm } from '../../body/form-body.ts'
import type { JsonBody } from '../../body/json-body.ts'
import { Reading, UnverifiedReading } from '../../body/json-path.ts'
import { EVERY } from '../../body/json-tokens.ts'
import { joinParts } from '../../verify/signed-template.ts'
import { isSameText } from '../../verify/token.ts'
import { defineProvider } from '../define-provider.ts'
import type { Provider } from '../define-provider.ts'
import type { SecretOptions } from '../define-source.ts'
import type { BatchPart } from '../identification.ts'
import { customVerification } from '../schemes/custom-verification.ts'
import { hmacSignature } from '../schemes/hmac-signature.ts'
import type { PublicUrlOptions } from '../schemes/public-url.ts'
import type { Verification } from '../schemes/verification.ts'

const TOKEN = 'i-twilio-idempotency-token'

/**
 * Twilio's webhooks: messages, calls, and whatever else has a callback, and Event Streams.
 *
 * A request is known by its idempotency token, which is not signed; without one by the hash of its
 * fields. An event of Event Streams is known by its own id.
 */
export const twilio: Provider<TwilioOptions, TwilioEvents> = defineProvider({
  provider: 'twilio',
  verify: twilioSignature(),
  methods: ['POST', 'GET'],
  headers: [TOKEN],
  batch: cutEvents,
  key: [findEventId, findToken, { all: [{ optional: findSid }, findFieldsHash] }],
  scope: (reading) => findField(reading, 'AccountSid'),
  type: findType,
  occurredAt: findTime,
  sequence: (reading) => findField(reading, 'SequenceNumber'),
  content: findSigned,
  // The token is not signed: a captured request under a fresh one would be another event.
  sameBytes: 'quarantine',
  // For a call or a message the answer is TwiML, and JSON an error. This one says: do nothing.
  success: { body: { text: '<Response/>', contentType: 'text/xml' } },
  // One more try within the same fifteen seconds, unless the URL asks for more.
  retryWindowHours: 0.02,
  timeoutSeconds: 15,
})

/** A form's fields, or an event of Event Streams. */
export interface TwilioPayload {
  readonly AccountSid?: string
  readonly MessageSid?: string
  readonly CallSid?: string
  readonly From?: string
  readonly To?: string
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly [field: string]: any
}

/** The payloads of Twilio by event type. Give `twilio` a map of your own for exact ones. */
export type TwilioEvents = Readonly<Record<string, TwilioPayload>>

/** What `twilio` is configured with. */
export type TwilioOptions = SecretOptions & PublicUrlOptions

/** A signature over any of the spellings of the URL. */
function twilioSignature() {
  const { headers, optionNames } = signatureOver((url) => url)
  return customVerification({
    summary: 'HMAC-SHA-1 in base64 over the URL and the fields, or the hash of the body',
    headers,
    signsBody: true,
    optionNames,
    build(context) {
      const built = SPELLINGS.map((spell) => ({ ...signatureOver(spell).build(context), spell }))
      const publicUrl = String(context.options['publicUrl'])
      return {
        secrets: built[0]?.secrets ?? [],
        warnings: built[0]?.warnings ?? [],
        async verify(delivery) {
          const url = findSignedUrl(publicUrl, delivery.url) ?? publicUrl
          const tried = new Set<string>()
          for (const { verify, spell } of built) {
            // Most URLs are spelled alike in several ways, and each costs an HMAC for each secret.
            const spelled = spell(url)
            if (tried.has(spelled)) continue
            tried.add(spelled)
            const verdict = await verify(delivery)
            if (verdict.ok) {
              const parts = renderSigned(new UnverifiedReading(delivery), publicUrl, spell)
              return typeof parts === 'string' ? verdict : { ...verdict, signed: joinParts(parts) }
            }
            if (verdict.reason !== 'bad-signature') return verdict
          }
          return { ok: false, reason: 'bad-signature' }
        },
      }
    },
  })
}

function signatureOver(spell: (url: string) => string): Verification {
  return hmacSignature({
    signature: 'header:x-twilio-signature',
    algorithm: 'sha1',
    encoding: 'base64',
    usesPublicUrl: true,
    signed: (reading, { publicUrl }) => renderSigned(reading, publicUrl, spell),
  })
}

const SPELLINGS: readonly ((url: string) => string)[] = [
  (url) => url,
  withoutPort,
  withPort,
  (url) => withOldQuery(withoutPort(url)),
  (url) => withOldQuery(withPort(url)),
]

function withoutPort(url: string): string {
  const parsed = new URL(url)
  parsed.port = ''
  return parsed.href
}

/** `URL` leaves the usual port out, even where it is written. */
function withPort(url: string): string {
  const { href, protocol, port, host } = new URL(url)
  if (port !== '') return href
  const end = href.indexOf(host, protocol.length + 2) + host.length
  return `${href.slice(0, end)}:${protocol === 'https:' ? 443 : 80}${href.slice(end)}`
}

function withOldQuery(url: string): string {
  const [base, query] = splitQuery(url)
  return query === '' ? url : `${base}?${stringify(parse(query.slice(1)))}`
}

/** A GET has no body, and JSON is signed by its hash alone: Twilio sends nothing that is both or neither. */
function renderSigned(
  { delivery, json }: Reading,
  publicUrl: string,
  spell: (url: string) => string,
): readonly Uint8Array[] | VerdictReason {
  const url = findSignedUrl(publicUrl, delivery.url)
  if (url === undefined) return 'bad-signature'
  const signed = Buffer.from(spell(url), 'utf8')
  const hashes = new URL(url).searchParams.getAll('bodySHA256')
  if (delivery.method === 'GET') return hashes.length === 0 ? [signed] : 'malformed-body'
  if (hashes.length > 0) {
    const hash = createHash('sha256').update(delivery.body).digest('hex')
    return hashes.length === 1 && isSameText(hashes[0] ?? '', hash) ? [signed] : 'malformed-body'
  }
  if (json !== undefined) return 'malformed-body'
  const form = renderSortedForm(delivery.body)
  // The end of a longer URL, signed for another endpoint of yours, would be the beginning of a name.
  const isOurs =
    form !== undefined &&
    (form.byteLength === 0 || BEGINS_A_NAME.test(form.toString('latin1', 0, 1)))
  return isOurs ? [signed, form] : 'malformed-body'
}

const BEGINS_A_NAME = /^\w/

function findSignedUrl(publicUrl: string, requestUrl: string): string | undefined {
  const [, own] = splitQuery(publicUrl)
  const [, query] = splitQuery(requestUrl)
  if (query === '' || normalised(query) === normalised(own)) return publicUrl
  if (own === '') return publicUrl + query
  return query.startsWith(`${own}&`) ? publicUrl + query.slice(own.length) : undefined
}

/** On its way a `'` may have become `%27`. */
function normalised(query: string): string {
  return new URL(query, 'https://example.com').search
}

function splitQuery(url: string): readonly [base: string, query: string] {
  const at = url.indexOf('?')
  return at === -1 ? [url, ''] : [url.slice(0, at), url.slice(at)]
}

/** Event Streams sends lists. A GET has its fields in the query, and they become the body. */
function cutEvents({ delivery, json }: Reading): Iterable<BatchPart> | undefined {
  if (delivery.method === 'GET') {
    const bytes = Buffer.from(splitQuery(delivery.url)[1].slice(1), 'utf8')
    return [{ bytes, bodyType: 'application/x-www-form-urlencoded' }]
  }
  return json !== undefined && Array.isArray(json.findValue([])) ? cutList(json) : undefined
}

function* cutList(json: JsonBody): Generator<BatchPart, void> {
  for (const bytes of json.walkSlices([EVERY])) yield { bytes }
}

/** A field of a form. JSON is none, whatever its texts look like. */
function findField({ json, bytes }: Reading, name: string): string | undefined {
  return json === undefined ? findFormField(bytes, name) || undefined : undefined
}

function findEventId({ json }: Reading): string | undefined {
  return json?.findText(['specversion']) === undefined ? undefined : json.findText(['id'])
}

/** One token is for one request: the elements of a list cannot share it. */
function findToken(reading: Reading): string | undefined {
  const isElement = reading.root !== reading.json
  return isElement ? undefined : findHeader(reading.delivery, TOKEN)
}

const SIDS = ['RecordingSid', 'MessageSid', 'SmsSid', 'CallSid', 'ConferenceSid', 'Sid']

function findSid(reading: Reading): string | undefined {
  return SIDS.map((name) => findField(reading, name)).find((sid) => sid !== undefined)
}

function findFieldsHash({ bytes }: Reading): string | undefined {
  const fields = renderSortedForm(bytes)
  if (fields === undefined || fields.byteLength === 0) return undefined
  return createHash('sha256').update(fields).digest('hex')
}

/** The URL and the fields, as they were signed. The events of a list have bytes of their own. */
function findSigned({ delivery, json, signed, options }: Reading): Uint8Array | undefined {
  if (json !== undefined && delivery.method !== 'GET') return undefined
  if (signed !== undefined) return signed
  const parts = renderSigned(new Reading(delivery), String(options['publicUrl']), (url) => url)
  return typeof parts === 'string' ? undefined : joinParts(parts)
}

/** `message.delivered`, `call.completed`: there is no type, only a status. */
function findType(reading: Reading): string | undefined {
  const { json } = reading
  const field = (name: string) => findField(reading, name)
  const named = field('EventType') ?? field('StatusCallbackEvent')
  const ofJson = json?.findText(['type']) ?? json?.findText(['event_type'])
  if (named !== undefined || ofJson !== undefined) return named ?? ofJson
  const kinds = [
    ['recording', field('RecordingSid'), field('RecordingStatus')],
    [
      'message',
      field('MessageSid') ?? field('SmsSid'),
      field('MessageStatus') ?? field('SmsStatus'),
    ],
    ['call', field('CallSid'), field('CallStatus')],
  ] as const
  const found = kinds.find(([, sid]) => sid !== undefined)
  return found && [found[0], found[2]].filter((part) => part !== undefined).join('.')
}

const RFC_2822 = /^\w{3}, \d{1,2} \w{3} \d{4} \d\d:\d\d:\d\d (?:\+0000|GMT)$/

function findTime(reading: Reading): string | undefined {
  const text =
    findField(reading, 'TimestampMs') ??
    findField(reading, 'Timestamp') ??
    findField(reading, 'DateCreated') ??
    reading.json?.findText(['time'])
  return text !== undefined && RFC_2822.test(text) ? String(Date.parse(text)) : text
}
