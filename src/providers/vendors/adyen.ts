/**
 * Adyen: standard webhooks (payments) and those of its platforms and its management API.
 *
 * A standard webhook has its signature in each item, over eight of the item's values; whatever else
 * the item says (`eventDate`, `reason`, `paymentMethod`, and `live` around it) an attacker on the way
 * could have changed. So nothing of that identifies an event. The other webhooks sign the body, in the
 * header `hmacsignature`.
 *
 * A failing endpoint is a queue at Adyen's: one item that is refused holds up all that follow.
 *
 * @module
 */

import { findHeader } from '../../model/delivery.ts'
import type { Delivery } from '../../model/delivery.ts'
import type { SourceOptions, Verdict, VerdictReason } from '../../model/source.ts'
import { testElements } from '../../body/claimed-json.ts'
import { hmacSigner } from '../../verify/hmac.ts'
import { JsonBody } from '../../body/json-body.ts'
import { Reading } from '../../body/json-path.ts'
import { EVERY } from '../../body/json-tokens.ts'
import type { Secret } from '../../verify/secrets.ts'
import type { FindSigner } from '../../verify/verify-delivery.ts'
import { defineProvider } from '../define-provider.ts'
import type { Provider } from '../define-provider.ts'
import { customVerification } from '../schemes/custom-verification.ts'
import { hmacSignature } from '../schemes/hmac-signature.ts'
import type { BuildContext, BuiltVerification } from '../schemes/verification.ts'

const BODY_HEADER = 'hmacsignature'

const BODY_SIGNATURE = hmacSignature({
  signature: `header:${BODY_HEADER}`,
  algorithm: 'sha256',
  encoding: 'base64',
  secretEncoding: 'hex',
  signed: '{body}',
})

/**
 * Adyen's webhooks.
 *
 * An item is known by its reference, its event code and whether it succeeded: the same reference and
 * code come again when the outcome changes. A transfer is known by its id and its sequence number; the
 * other webhooks of platforms have no id of their own and are known by their bytes.
 */
export const adyen: Provider<AdyenOptions, AdyenEvents> = defineProvider({
  provider: 'adyen',
  verify: customVerification({
    summary:
      'HMAC-SHA-256 in base64, over eight values of each item; where the header `hmacsignature` is there, over the body',
    headers: [BODY_HEADER],
    signsBody: false,
    optionNames: ['secrets'],
    build,
  }),
  batch: '$.notificationItems[*].NotificationRequestItem',
  key: [
    {
      all: [
        'json:$.pspReference',
        'json:$.eventCode',
        { optional: 'json:$.success' },
        { optional: 'json:$.originalReference' },
      ],
    },
    { all: ['json:$.type', 'json:$.data.id', 'json:$.data.sequenceNumber'] },
    // `data.id` is the account or the card: every update of it has the same.
    'body',
  ],
  // Not `live`: it is unsigned, and test and live have secrets of their own.
  scope: ['json:$.merchantAccountCode', 'json:$.data.balancePlatform'],
  type: ['json:$.eventCode', 'json:$.type'],
  occurredAt: [
    'json:$.eventDate',
    'json:$.timestamp',
    'json:$.createdAt',
    'json:$.data.creationDate',
  ],
  version: 'json:$.data.sequenceNumber',
  // Another one when the secret has changed between two tries. All else stays, signed or not: the same
  // item with other unsigned values is a conflict for a person to see.
  volatile: ['$.additionalData.hmacSignature'],
  // Endpoints of the older contract are failing without this very text.
  success: { body: { text: '[accepted]', contentType: 'text/plain; charset=utf-8' } },
  retryWindowHours: 720,
  timeoutSeconds: 10,
})

/** An item of a standard webhook, or the body of another. */
export interface AdyenPayload {
  /** Of an item, such as `AUTHORISATION`. */
  readonly eventCode?: string
  readonly pspReference?: string
  readonly originalReference?: string
  readonly merchantAccountCode?: string
  readonly merchantReference?: string
  /** A text, and not a boolean. */
  readonly success?: string
  readonly amount?: { readonly value: number; readonly currency: string }
  /** Of a platform's webhook, such as `balancePlatform.transfer.updated`. */
  readonly type?: string
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly data?: Record<string, any>
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly [member: string]: any
}

/** The payloads of Adyen by event type. Give `adyen` a map of your own for exact ones. */
export type AdyenEvents = Readonly<Record<string, AdyenPayload>>

/** What `adyen` is configured with. */
export interface AdyenOptions extends SourceOptions {
  /** The HMAC keys, in hex as Adyen shows them. Several for a rotation. */
  readonly secrets: readonly Secret[]
}

function build(context: BuildContext): BuiltVerification {
  const ofBody = BODY_SIGNATURE.build(context)
  const findSigner = hmacSigner(ofBody.secrets, { algorithm: 'sha256', encoding: 'base64' })
  return {
    ...ofBody,
    verify(delivery) {
      if (findHeader(delivery, BODY_HEADER) === undefined) return verifyItems(findSigner, delivery)
      const verdict = ofBody.verify(delivery) as Verdict
      if (!verdict.ok) return verdict
      // What is signed of an item is text with colons. Sent as a body it would have a valid signature.
      const { json } = new Reading(delivery)
      return isObject(json?.findValue([])) ? verdict : refuse('malformed-body')
    },
  }
}

/** Every item must be signed: an unsigned one could be an event that an attacker made. */
function verifyItems(findSigner: FindSigner, delivery: Delivery): Verdict {
  const nowMs = delivery.receivedAt.getTime()
  // Before the body is parsed: the first item whose signature does not hold ends it.
  const signed = testElements(
    delivery.body,
    'notificationItems',
    CLAIMED_PATHS,
    ([signature, ...values]) =>
      signature !== undefined &&
      findSigner({ signatures: [signature] }, [joinValues(values)], nowMs) !== undefined,
  )
  if (signed !== 'holds') return refuse(signed === 'none' ? 'malformed-body' : 'bad-signature')

  const items = findItems(delivery)
  if (items === undefined) return refuse('malformed-body')
  let signer: string | undefined
  for (const item of items) {
    const signed = renderItem(item)
    const signature = item.findText(['additionalData', 'hmacSignature'])
    if (signed === undefined || signature === undefined) return refuse('malformed-body')
    signer = findSigner({ signatures: [signature] }, [signed], nowMs)
    if (signer === undefined) return refuse('bad-signature')
  }
  return signer === undefined ? refuse('malformed-body') : { ok: true, secret: signer }
}

function findItems(delivery: Delivery): readonly JsonBody[] | undefined {
  const { json } = new Reading(delivery)
  const list = json?.findValue(['notificationItems'])
  if (json === undefined || !Array.isArray(list)) return undefined
  const items = json
    .listSlices(['notificationItems', EVERY, ITEM])
    .flatMap((bytes) => JsonBody.find(bytes) ?? [])
  return items.length === list.length ? items : undefined
}

const SIGNED_VALUES = [
  ['pspReference'],
  ['originalReference'],
  ['merchantAccountCode'],
  ['merchantReference'],
  ['amount', 'value'],
  ['amount', 'currency'],
  ['eventCode'],
  ['success'],
] as const

/** The JSON of another webhook has colons too. Taken for an item, its signature would hold. */
const NAME = /^[\w-]+$/
const ITEM = 'NotificationRequestItem'
const CLAIMED_PATHS = [['additionalData', 'hmacSignature'], ...SIGNED_VALUES].map((path) => [
  ITEM,
  ...path,
])

function joinValues(values: readonly (string | undefined)[]): Buffer {
  return Buffer.from(values.map((value) => value ?? '').join(':'), 'utf8')
}

/**
 * The values that are there, with colons between. Adyen does not escape a colon inside of a value, so
 * with colons in two of them one signature would hold for several items. Only the merchant's own
 * reference may have one; the others never do.
 */
function renderItem(item: JsonBody): Buffer | undefined {
  const values = SIGNED_VALUES.map((path) => item.findText(path) ?? '')
  const isAmbiguous = values.some(
    (value, index) => value.includes(':') && SIGNED_VALUES[index]?.[0] !== 'merchantReference',
  )
  const isNamed = NAME.test(values[0] ?? '') && NAME.test(item.findText(['eventCode']) ?? '')
  return isNamed && !isAmbiguous ? joinValues(values) : undefined
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function refuse(reason: VerdictReason): Verdict {
  return { ok: false, reason }
}
