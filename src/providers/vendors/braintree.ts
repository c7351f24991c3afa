/**
 * Braintree: a form with `bt_payload`, which is XML in base64, and `bt_signature`, which is
 * `<public key>|<hex>` for each key that signed, joined by `&`. HMAC-SHA-1, keyed with the SHA-1 of
 * the private key.
 *
 * Its handshake makes us sign up to 32 hex digits that the caller chooses, with the same key. Hex digits
 * are base64 as well, so the answer would be a valid signature of a payload; of one that is not XML,
 * though. What is not a `<notification>` is therefore refused, whatever its signature.
 *
 * @module
 */

import { createHash } from 'node:crypto'
import type { Delivery } from '../../model/delivery.ts'
import type { SourceOptions, Verdict, VerdictReason } from '../../model/source.ts'
import { findFormBytes, findFormField } from '../../body/form-body.ts'
import { hmacSigner } from '../../verify/hmac.ts'
import { resolveSecrets } from '../../verify/secrets.ts'
import type { Secret } from '../../verify/secrets.ts'
import { defineProvider } from '../define-provider.ts'
import type { Provider } from '../define-provider.ts'
import { textAnswer } from '../handshake.ts'
import type { HandshakeContext } from '../handshake.ts'
import { customVerification } from '../schemes/custom-verification.ts'
import type { BuildContext, BuiltVerification } from '../schemes/verification.ts'

/**
 * Braintree's webhooks.
 *
 * A notification has no id: its kind, its time to the second and its subject may be those of another.
 * It is known by the hash of its XML.
 */
export const braintree: Provider<BraintreeOptions, BraintreeEvents> = defineProvider({
  provider: 'braintree',
  verify: customVerification({
    summary: 'HMAC-SHA-1 in hex over the payload in a form, keyed with a hash of the private key',
    signsBody: true,
    optionNames: ['secrets'],
    build,
  }),
  handshake: {
    summary:
      'a GET with `bt_challenge`; answered 200 with the public key, `|` and the HMAC of the challenge',
    method: 'GET',
    when: 'query:bt_challenge',
    answer: answerChallenge,
  },
  key: ({ delivery }) => {
    const xml = findXml(delivery)
    return xml && createHash('sha256').update(xml).digest('hex')
  },
  type: ({ delivery }) => findElement(delivery, 'kind'),
  occurredAt: ({ delivery }) => findElement(delivery, 'timestamp'),
  // The signatures beside it change when a key is added.
  content: ({ delivery }) => findXml(delivery),
  retryWindowHours: 24,
  timeoutSeconds: 30,
})

/** The form, as `webhookNotification.parse` of Braintree's library takes it. */
export interface BraintreePayload {
  readonly bt_signature: string
  /** XML in base64. */
  readonly bt_payload: string
}

/** The payloads of Braintree by event type. Give `braintree` a map of your own for exact ones. */
export type BraintreeEvents = Readonly<Record<string, BraintreePayload>>

/** What `braintree` is configured with. */
export interface BraintreeOptions extends SourceOptions {
  /** Each is `publicKey|privateKey`. Several for a rotation. */
  readonly secrets: readonly Secret[]
}

function build({ provider, options }: BuildContext): BuiltVerification {
  const given = options['secrets'] as readonly Secret[] | undefined
  const { secrets, warnings } = resolveSecrets(provider, given, decodePair)
  const keys = secrets.map((secret, index) => ({
    publicKey: publicKeyOf(given?.[index]),
    findSigner: hmacSigner([secret], { algorithm: 'sha1', encoding: 'lower-hex' }),
  }))
  return {
    secrets,
    warnings,
    verify(delivery) {
      const signature = findFormField(delivery.body, 'bt_signature')
      const payload = findFormBytes(delivery.body, 'bt_payload')
      if (signature === undefined || payload === undefined) return refuse('malformed-body')
      const pairs = signature.split('&', PAIRS_MAX).map((pair) => pair.split('|'))
      const nowMs = delivery.receivedAt.getTime()
      for (const { publicKey, findSigner } of keys) {
        const [, hex = ''] = pairs.find((pair) => pair.length === 2 && pair[0] === publicKey) ?? []
        const signer =
          findSigner({ signatures: [hex] }, [payload], nowMs) ??
          // Its last line break is signed and may be missing; Braintree's own library tries both.
          findSigner({ signatures: [hex] }, [payload, '\n'], nowMs)
        if (signer === undefined) continue
        return findPayload(delivery) === undefined
          ? refuse('malformed-body')
          : { ok: true, secret: signer }
      }
      return refuse('bad-signature')
    },
  }
}

/** More than a merchant has keys. */
const PAIRS_MAX = 64

function decodePair(text: string): Buffer | undefined {
  const [publicKey, privateKey, ...rest] = text.split('|')
  if (!publicKey || !privateKey || rest.length > 0) return undefined
  return createHash('sha1').update(privateKey, 'utf8').digest()
}

function publicKeyOf(secret: Secret | undefined): string {
  const text = typeof secret === 'object' ? secret.value : secret
  return text?.split('|')[0] ?? ''
}

/** The payload as it was posted, if it can be one. */
function findPayload(delivery: Delivery): string | undefined {
  const payload = findFormField(delivery.body, 'bt_payload') ?? ''
  if (!/^[A-Za-z0-9+/=\n]+$/.test(payload)) return undefined
  return Buffer.from(payload, 'base64').includes('<notification') ? payload : undefined
}

function findXml(delivery: Delivery): Buffer | undefined {
  const payload = findPayload(delivery)
  return payload === undefined ? undefined : Buffer.from(payload, 'base64')
}

/** The text of an element of the notification itself: those of its subject may have the same names. */
function findElement(delivery: Delivery, name: 'kind' | 'timestamp'): string | undefined {
  const [head = ''] = findXml(delivery)?.toString('utf8').split('<subject', 1) ?? []
  return new RegExp(`<${name}(?: [^<>]*)?>([^<>]+)</${name}>`).exec(head)?.[1]?.trim()
}

function answerChallenge({ find, hmac, options, delivery }: HandshakeContext) {
  const challenge = find('query:bt_challenge')
  // No longer and nothing else: this is a signature on a text that the requester chose.
  if (!/^[a-f0-9]{20,32}$/.test(challenge)) return 'refuse'
  const secrets = options['secrets'] as readonly Secret[]
  // The first that is live, which is the one that `hmac` takes.
  const live = secrets.find((one) => untilOf(one) >= delivery.receivedAt.getTime())
  return textAnswer(`${publicKeyOf(live)}|${hmac('sha1', challenge, 'hex')}`)
}

function untilOf(secret: Secret): number {
  const until = typeof secret === 'object' ? secret.until : undefined
  return until?.getTime() ?? Number.POSITIVE_INFINITY
}

function refuse(reason: VerdictReason): Verdict {
  return { ok: false, reason }
}
