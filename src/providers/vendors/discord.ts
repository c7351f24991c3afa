/**
 * Discord: Ed25519 over the timestamp and the body. It sends wrongly signed requests on purpose, and
 * removes an endpoint that does not answer them 401.
 *
 * @module
 */

import { defineProvider } from '../define-provider.ts'
import type { Provider } from '../define-provider.ts'
import { emptyAnswer, jsonAnswer } from '../handshake.ts'
import { ed25519Signature } from '../schemes/public-key-signature.ts'
import type { PublicKeyOptions } from '../schemes/public-key-signature.ts'

/**
 * Discord's webhook events and interactions.
 *
 * An interaction is known by its `id`. A webhook event has none: it is known by its type, its time and
 * the id inside its data.
 */
export const discord: Provider<DiscordOptions, DiscordEvents> = defineProvider({
  provider: 'discord',
  verify: ed25519Signature({
    signature: 'header:x-signature-ed25519',
    encoding: 'hex',
    // Discord's own library asks for no window. It retries for minutes.
    timestamp: {
      at: 'header:x-signature-timestamp',
      format: 'seconds',
      toleranceSeconds: 3_600,
      aheadSeconds: 300,
      outside: 'quarantine',
    },
    signed: '{timestamp}{body}',
  }),
  handshake: [
    {
      summary: 'webhook events: a signed POST of the type 0; answered 204',
      when: ['json:$.type', '0'],
      signed: true,
      answer: () => emptyAnswer(204),
    },
    {
      summary: 'interactions: a signed POST of the type 1; answered 200 with `{"type":1}`',
      when: ['json:$.type', '1'],
      signed: true,
      // The type 1 is an event where there is an event, and a ping where there is none.
      answer: ({ find }) =>
        find('json:$.event.type') === '' ? jsonAnswer({ type: 1 }) : undefined,
    },
  ],
  key: [
    {
      all: [
        'json:$.event.type',
        'json:$.event.timestamp',
        { optional: ['json:$.event.data.id', 'json:$.event.data.user.id'] },
      ],
    },
    'json:$.id',
  ],
  scope: 'json:$.application_id',
  type: ['json:$.event.type', { join: [() => 'interaction', 'json:$.type'], with: '.' }],
  occurredAt: 'json:$.event.timestamp',
  retryWindowHours: 0.2,
  timeoutSeconds: 3,
})

/** What an event of Discord carries, as far as it is typed here. */
export interface DiscordPayload {
  readonly application_id: string
  readonly type: number
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly event?: Record<string, any>
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly [member: string]: any
}

/** The payloads of Discord by event type. Give `discord` a map of your own for exact ones. */
export type DiscordEvents = Readonly<Record<string, DiscordPayload>>

/** What `discord` is configured with. */
export type DiscordOptions = PublicKeyOptions
