/**
 * Box (webhooks V2): HMAC over the body and then the time of the delivery, in two headers: one made with
 * the primary key, one with the secondary, so that the keys can be changed one after the other.
 *
 * Each header is judged with its own key and no other. Box may sign the body as its PHP writes it, with
 * slashes and everything beyond ASCII escaped, and send it unescaped; both are tried, as Box's own
 * library does. They are the same JSON, letter for letter.
 *
 * @module
 */

import { OptionInvalidError } from '../../errors.ts'
import { findHeader } from '../../model/delivery.ts'
import type { Delivery } from '../../model/delivery.ts'
import type { Verdict, VerdictReason } from '../../model/source.ts'
import { ClaimedJson } from '../../body/claimed-json.ts'
import { hmacSigner } from '../../verify/hmac.ts'
import type { Reading } from '../../body/json-path.ts'
import { resolveSecrets } from '../../verify/secrets.ts'
import type { Secret } from '../../verify/secrets.ts'
import { verifyDelivery } from '../../verify/verify-delivery.ts'
import { defineProvider } from '../define-provider.ts'
import type { Provider } from '../define-provider.ts'
import type { SecretOptions } from '../define-source.ts'
import { customVerification } from '../schemes/custom-verification.ts'
import { compileScheme } from '../schemes/signature-spec.ts'
import type { SignedBy } from '../schemes/signature-spec.ts'
import type { BuildContext, BuiltVerification } from '../schemes/verification.ts'

const TOLERANCE_SECONDS = 600
const SIGNATURES = ['box-signature-primary', 'box-signature-secondary'] as const

/** Box's webhooks. An event is known by its `id`; `box-delivery-id` is new for every attempt. */
export const box: Provider<BoxOptions, BoxEvents> = defineProvider({
  provider: 'box',
  verify: customVerification({
    summary: 'HMAC-SHA-256 in base64, once with the primary key and once with the secondary',
    headers: [
      ...SIGNATURES,
      'box-signature-version',
      'box-signature-algorithm',
      'box-delivery-timestamp',
    ],
    signedHeaders: ['box-delivery-timestamp'],
    signsBody: true,
    optionNames: ['secrets', 'toleranceSeconds'],
    toleranceSeconds: TOLERANCE_SECONDS,
    build,
  }),
  key: [
    'json:$.id',
    // Every event has an id. Were one without, the time of its delivery is signed: its retry would run
    // again, where the id of the file would make one event of all that happens to it.
    {
      all: [
        'json:$.webhook.id',
        'json:$.trigger',
        { optional: 'json:$.source.id' },
        'header:box-delivery-timestamp',
      ],
    },
  ],
  type: 'json:$.trigger',
  occurredAt: 'json:$.created_at',
  version: 'json:$.source.sequence_id',
  retryWindowHours: 2,
  timeoutSeconds: 30,
})

/** What an event of Box carries, as far as it is typed here. */
export interface BoxPayload {
  readonly type: string
  readonly id: string
  /** ISO 8601. */
  readonly created_at: string
  /** `FILE.UPLOADED`, … */
  readonly trigger: string
  readonly webhook: { readonly id: string; readonly type: string }
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly created_by?: Record<string, any>
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly source: Record<string, any>
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly additional_info?: any
}

/** The payloads of Box by event type. Give `box` a map of your own for exact ones. */
export type BoxEvents = Readonly<Record<string, BoxPayload>>

/** What `box` is configured with. */
export interface BoxOptions extends SecretOptions {
  /** The primary key, and behind it the secondary. Each is tried with its own header only. */
  readonly secrets: readonly Secret[]
  /**
   * How old the time of the delivery may be. It may never be ahead of our clock, as for Box itself.
   *
   * @defaultValue 600
   */
  readonly toleranceSeconds?: number
}

const SPEC = { algorithm: 'sha256', encoding: 'base64' } as const

function build(context: BuildContext): BuiltVerification {
  const { provider, options } = context
  const given = options['secrets'] as readonly Secret[] | undefined
  const { secrets, warnings } = resolveSecrets(provider, given, 'utf8')
  if (secrets.length > SIGNATURES.length) {
    throw new OptionInvalidError(
      `${provider}.secrets`,
      'the primary key, and behind it the secondary',
      secrets,
    )
  }
  const attempts = secrets.flatMap((secret, index) =>
    [renderBody, renderEscaped].map((signed) => ({
      findSigner: hmacSigner([secret], SPEC),
      scheme: compileScheme(
        {
          ...SPEC,
          signature: `header:${SIGNATURES[index] ?? ''}`,
          timestamp: {
            at: 'header:box-delivery-timestamp',
            format: 'iso',
            toleranceSeconds: TOLERANCE_SECONDS,
            aheadSeconds: 0,
          },
          signed,
        },
        context,
      ),
    })),
  )
  return {
    secrets,
    warnings,
    verify(delivery) {
      const reason = findFault(delivery)
      if (reason !== undefined) return { ok: false, reason }
      const verdicts: Verdict[] = []
      for (const { scheme, findSigner } of attempts) {
        const verdict = verifyDelivery(scheme, findSigner, delivery)
        if (verdict.ok) return verdict
        verdicts.push(verdict)
      }
      return mostTelling(verdicts)
    },
  }
}

/** Neither header is signed, and only these values have a meaning that we know. */
function findFault(delivery: Delivery): VerdictReason | undefined {
  const version = findHeader(delivery, 'box-signature-version')
  const algorithm = findHeader(delivery, 'box-signature-algorithm')
  if (version === undefined || algorithm === undefined) return 'missing-header'
  return version === '1' && algorithm === 'HmacSHA256' ? undefined : 'bad-signature'
}

/** `stale` says that a signature did hold. */
function mostTelling(verdicts: readonly Verdict[]): Verdict {
  const refusals = verdicts.flatMap((verdict) => (verdict.ok ? [] : [verdict]))
  const stale = refusals.find(({ reason }) => reason === 'stale')
  return stale ?? refusals[0] ?? { ok: false, reason: 'bad-signature' }
}

const renderBody: SignedBy = ({ delivery }, { timestamp }) => [delivery.body, timestamp]

/** Many times what Box sends. Of a body of nothing but accents the escapes are six times as long. */
const ESCAPED_BYTES_MAX = 65_536

/** Only of JSON: in any other text an escape would mean something else than what it stands for. */
const renderEscaped: SignedBy = ({ delivery: { body } }: Reading, { timestamp }) => {
  if (body.byteLength > ESCAPED_BYTES_MAX || ClaimedJson.find(body) === undefined) {
    return 'bad-signature'
  }
  const text = Buffer.from(body)
    .toString('utf8')
    .replace(/[\u007f-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .replace(/(?<!\\)\//g, '\\/')
  return [text, timestamp]
}
