/**
 * Okta's event hooks: a secret of your own in a header of your choice, and nothing signed.
 *
 * Okta tries twice at most, and never again after a 4xx: a delivery that is refused is lost. Where no
 * event may be missed, read the System Log as well.
 *
 * @module
 */

import { defineProvider } from '../define-provider.ts'
import type { Provider } from '../define-provider.ts'
import { jsonAnswer } from '../handshake.ts'
import { sharedToken } from '../schemes/shared-token.ts'
import type { TokenOptions } from '../schemes/shared-token.ts'

/**
 * Okta's event hooks. Every element of `data.events` is an event.
 *
 * It is known by its `uuid` within its hook. `eventId` is that of the delivery, and the `eventType` around
 * the list is always `com.okta.event_hook`.
 */
export const okta: Provider<OktaOptions, OktaEvents> = defineProvider({
  provider: 'okta',
  // Verbatim: `Bearer` is part of it only where you typed it.
  verify: sharedToken({ at: 'header:authorization', headerOption: 'header' }),
  options: {
    header: {
      kind: 'text',
      summary: 'the header you chose as the authentication field, where it is not `authorization`',
    },
  },
  handshake: {
    summary:
      'a GET with `x-okta-verification-challenge` and the secret; answered 200 with `{"verification":"…"}`',
    method: 'GET',
    // Okta shows the secret in every request, this one too.
    signed: true,
    answer: ({ find }) => {
      const challenge = find('header:x-okta-verification-challenge')
      return challenge === '' ? 'refuse' : jsonAnswer({ verification: challenge })
    },
  },
  batch: '$.data.events[*]',
  key: 'json:$.uuid',
  // The address of the hook, so that two hooks for one event are two.
  scope: 'root:$.source',
  type: 'json:$.eventType',
  occurredAt: 'json:$.published',
  // Okta asks for an empty answer.
  success: { body: 'empty' },
  // One retry, seconds later.
  retryWindowHours: 1,
  timeoutSeconds: 3,
})

/** An entry of Okta's System Log. */
export interface OktaPayload {
  readonly uuid: string
  readonly eventType: string
  /** ISO 8601. */
  readonly published: string
  readonly version?: string
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly actor?: Record<string, any>
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly target?: readonly Record<string, any>[] | null
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly [member: string]: any
}

/** The payloads of Okta event hooks by event type. Give `okta` a map of your own for exact ones. */
export type OktaEvents = Readonly<Record<string, OktaPayload>>

/** What `okta` is configured with. */
export interface OktaOptions extends TokenOptions {
  /**
   * The authentication field of the hook.
   *
   * @defaultValue 'authorization'
   */
  readonly header?: string
}
