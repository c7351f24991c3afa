/**
 * Twitch EventSub: `twitch-eventsub-message-signature: sha256=<hex>` over the message's id, its time and
 * the body, with nothing between. A body may hold what a viewer wrote in a chat, a time for instance: were
 * the id to end there, the rest would be another body. So an id has the shape of one, which no time has.
 *
 * The headers that name the kind of message and the subscription are not signed. Nothing is read from
 * them: the body says both.
 *
 * @module
 */

import { findHeader } from '../../model/delivery.ts'
import type { Delivery } from '../../model/delivery.ts'
import type { VerdictReason } from '../../model/source.ts'
import type { Reading } from '../../body/json-path.ts'
import { defineProvider } from '../define-provider.ts'
import type { Provider } from '../define-provider.ts'
import type { SecretOptions } from '../define-source.ts'
import { textAnswer } from '../handshake.ts'
import { hmacSignature } from '../schemes/hmac-signature.ts'
import { withCheck } from '../schemes/with-check.ts'

const MESSAGE_ID = 'header:twitch-eventsub-message-id'
const MESSAGE_TIME = 'header:twitch-eventsub-message-timestamp'

/**
 * Twitch's EventSub notifications and revocations.
 *
 * A message is known by its id, which is signed; where a message carries a list (drop entitlements),
 * every element is an event, known by its own id.
 */
export const twitch: Provider<TwitchOptions, TwitchEvents> = defineProvider({
  provider: 'twitch',
  verify: withCheck(
    hmacSignature({
      signature: 'header:twitch-eventsub-message-signature',
      prefix: 'sha256=',
      algorithm: 'sha256',
      encoding: 'lower-hex',
      // Twitch's documents ask to drop what is older than ten minutes.
      timestamp: { at: MESSAGE_TIME, format: 'iso', toleranceSeconds: 600 },
      signed: `{${MESSAGE_ID}}{timestamp}{body}`,
    }),
    { check: findFault },
  ),
  handshake: {
    summary:
      'a signed POST with a `challenge`; answered 200 with the challenge as plain text, without quotes',
    when: 'json:$.challenge',
    signed: true,
    answer: ({ find }) => textAnswer(find('json:$.challenge')),
  },
  batch: '$.events[*]',
  key: ['json:$.id', MESSAGE_ID],
  type: findType,
  occurredAt: MESSAGE_TIME,
  // “A few” retries, and nothing older than ten minutes is wanted.
  retryWindowHours: 0.5,
})

/** What an event of Twitch EventSub carries, as far as it is typed here. */
export interface TwitchPayload {
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly subscription: Record<string, any>
  // Its shape goes by the subscription's type.
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly event?: Record<string, any>
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly [member: string]: any
}

/** The payloads of Twitch EventSub by event type. Give `twitch` a map of your own for exact ones. */
export type TwitchEvents = Readonly<Record<string, TwitchPayload>>

/** What `twitch` is configured with. */
export type TwitchOptions = SecretOptions

/** A UUID, or base64. A time has colons. */
const ID = /^[\w+/=-]{1,128}$/

function findFault(delivery: Delivery): VerdictReason | undefined {
  const id = findHeader(delivery, MESSAGE_ID.slice('header:'.length))
  return id === undefined || ID.test(id) ? undefined : 'malformed-header'
}

/** The subscription's type; `revocation` where there is no event, only a subscription that has ended. */
function findType(reading: Reading): string | undefined {
  const { root } = reading
  const hasEvent = ['event', 'events'].some((name) => root?.findValue([name]) !== undefined)
  const type = reading.findRootText(['subscription', 'type'])
  return type === undefined || hasEvent ? type : 'revocation'
}
