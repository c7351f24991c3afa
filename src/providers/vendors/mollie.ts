/**
 * Mollie: next-generation webhooks, `x-mollie-signature: sha256=<hex>` over the body. The prefix may be
 * missing.
 *
 * Classic webhooks are a form with the id of an object, and unsigned on purpose: they say that something
 * may have changed, and the object is to be read again. The id is the object's, and the same in every
 * call, so taking it for a key would lose every change but the first. They are refused unless the
 * option `classic` is set, and then every call is an event.
 *
 * @module
 */

import { findHeader } from '../../model/delivery.ts'
import type { Delivery } from '../../model/delivery.ts'
import { findFormFields } from '../../body/form-body.ts'
import { defineProvider } from '../define-provider.ts'
import type { Provider } from '../define-provider.ts'
import type { SecretOptions } from '../define-source.ts'
import { hmacSignature } from '../schemes/hmac-signature.ts'
import type { Verification } from '../schemes/verification.ts'

const SIGNATURE_HEADER = 'x-mollie-signature'

/**
 * Mollie's webhooks. An event is known by its `id`; a classic call, whose type is `classic`, by its
 * object and when it came.
 */
export const mollie: Provider<MollieOptions, MollieEvents> = defineProvider({
  provider: 'mollie',
  verify: orClassic(
    hmacSignature({
      signature: `header:${SIGNATURE_HEADER}`,
      prefix: ['sha256=', ''],
      algorithm: 'sha256',
      encoding: 'lower-hex',
      signed: '{body}',
    }),
  ),
  options: {
    classic: {
      kind: 'boolean',
      summary:
        'takes classic webhooks too, which are unsigned: read the object through the API before you believe anything',
    },
  },
  key: [
    'json:$.id',
    ({ delivery }) => {
      const id = findClassicId(delivery)
      return id && `${id}|${delivery.receivedAt.toISOString()}`
    },
  ],
  type: ['json:$.type', ({ delivery }) => findClassicId(delivery) && 'classic'],
  occurredAt: 'json:$.createdAt',
  retryWindowHours: 26,
  timeoutSeconds: 15,
  warnings: ({ classic }) =>
    classic === true
      ? [
          'mollie takes classic webhooks, which are unsigned: a stranger who knows its URL can make events of the type classic.',
        ]
      : [],
})

/** What an event of Mollie carries, as far as it is typed here. */
export interface MolliePayload {
  readonly id: string
  /** Not there in a classic call. */
  readonly type?: string
  /** ISO 8601. */
  readonly createdAt?: string
  readonly entityId?: string
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly [member: string]: any
}

/** The payloads of Mollie by event type. Give `mollie` a map of your own for exact ones. */
export type MollieEvents = Readonly<Record<string, MolliePayload>>

/** What `mollie` is configured with. */
export interface MollieOptions extends SecretOptions {
  /**
   * Whether classic webhooks, which are unsigned, are taken as well.
   *
   * @defaultValue false
   */
  readonly classic?: boolean
}

function orClassic(verification: Verification): Verification {
  return {
    ...verification,
    build(context) {
      const built = verification.build(context)
      if (context.options['classic'] !== true) return built
      return {
        ...built,
        verify: (delivery) =>
          findClassicId(delivery) === undefined
            ? built.verify(delivery)
            : { ok: true, secret: 'none' },
      }
    },
  }
}

/** `id=` and the longest id that is taken, escaped. */
const CLASSIC_BYTES_MAX = 256

/** A form with an id and nothing else, and no signature. All else must be signed. */
function findClassicId(delivery: Delivery): string | undefined {
  if (findHeader(delivery, SIGNATURE_HEADER) !== undefined) return undefined
  if (delivery.body.byteLength > CLASSIC_BYTES_MAX) return undefined
  const [field, ...rest] = findFormFields(delivery.body) ?? []
  if (field?.[0] !== 'id' || rest.length > 0) return undefined
  return /^[a-z]{2,8}_[A-Za-z0-9]{1,64}$/.test(field[1]) ? field[1] : undefined
}
