/**
 * Notion: `x-notion-signature: sha256=<hex>` over the body. The key is the `verification_token` that
 * Notion sends in its one handshake, and that a person pastes into Notion's settings.
 *
 * The handshake cannot be signed, so a stranger may send one: it is answered, handed to
 * `onVerificationToken`, and never becomes a secret by itself.
 *
 * @module
 */

import { defineProvider } from '../define-provider.ts'
import type { Provider } from '../define-provider.ts'
import type { SecretOptions } from '../define-source.ts'
import { emptyAnswer } from '../handshake.ts'
import type { HandshakeContext } from '../handshake.ts'
import { hmacSignature } from '../schemes/hmac-signature.ts'

/** Notion's webhooks. An event is known by its `id`; what changed is read through the API. */
export const notion: Provider<NotionOptions, NotionEvents> = defineProvider({
  provider: 'notion',
  verify: hmacSignature({
    signature: 'header:x-notion-signature',
    prefix: 'sha256=',
    algorithm: 'sha256',
    // Its library takes capitals as well.
    encoding: 'hex',
    signed: '{body}',
  }),
  options: {
    onVerificationToken: {
      kind: 'function',
      summary:
        'called with the token of a handshake, to show it to you; a stranger can send one too, so believe it only while you wait for it',
    },
  },
  handshake: {
    summary:
      'one unsigned POST with a `verification_token`; answered 200, and handed to `onVerificationToken`',
    when: 'json:$.verification_token',
    answer: takeVerificationToken,
  },
  key: 'json:$.id',
  scope: 'json:$.workspace_id',
  type: 'json:$.type',
  occurredAt: 'json:$.timestamp',
  // Counts the attempts, so a retry has other bytes and another signature.
  volatile: ['$.attempt_number'],
  retryWindowHours: 24,
})

/** What an event of Notion carries, as far as it is typed here. */
export interface NotionPayload {
  readonly id: string
  readonly type: string
  /** ISO 8601. */
  readonly timestamp: string
  readonly workspace_id: string
  readonly subscription_id: string
  readonly integration_id: string
  readonly attempt_number: number
  readonly entity: { readonly id: string; readonly type: string }
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly data?: Record<string, any>
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly [member: string]: any
}

/** The payloads of Notion by event type. Give `notion` a map of your own for exact ones. */
export type NotionEvents = Readonly<Record<string, NotionPayload>>

/** What `notion` is configured with. */
export interface NotionOptions extends SecretOptions {
  /**
   * Called with the token of every handshake, so that you can see it. A stranger who knows the URL can send
   * one too: believe the one that comes while you create the subscription. What it throws refuses the handshake.
   *
   * @defaultValue the token is dropped
   */
  readonly onVerificationToken?: (token: string) => void | Promise<void>
}

/** Notion's are some fifty characters; a longer text is an attempt to fill a log. */
const TOKEN_CHARACTERS_MAX = 256

async function takeVerificationToken({ find, options }: HandshakeContext) {
  // An event has an id; one that also carried such a member would be judged by its signature.
  if (find('json:$.id') !== '') return undefined
  const token = find('json:$.verification_token')
  if (token.length > TOKEN_CHARACTERS_MAX) return 'refuse'
  const onToken = options['onVerificationToken'] as NotionOptions['onVerificationToken']
  await onToken?.(token)
  return emptyAnswer()
}
