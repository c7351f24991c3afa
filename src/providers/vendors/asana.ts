/**
 * Asana: `x-hook-signature: <hex>` over the body. The key is the `x-hook-secret` of the handshake, which
 * Asana makes while the call that creates the webhook is still open, and which that call returns as well.
 *
 * The handshake is not signed. It is answered, and its secret is not taken: a webhook that a
 * stranger points at your URL signs with a secret that is not among `secrets`, and is refused.
 *
 * @module
 */

import { defineProvider } from '../define-provider.ts'
import type { Provider } from '../define-provider.ts'
import type { SecretOptions } from '../define-source.ts'
import { emptyAnswer } from '../handshake.ts'
import type { HandshakeContext } from '../handshake.ts'
import { hmacSignature } from '../schemes/hmac-signature.ts'

/**
 * Asana's webhooks. A delivery is a list of events, empty for a heartbeat.
 *
 * An event has no id. `resource.gid` is that of the task or project, which has many events, and one call may
 * make several in one millisecond; so an event is known by what, when, who, where, and what changed.
 */
export const asana: Provider<AsanaOptions, AsanaEvents> = defineProvider({
  provider: 'asana',
  verify: hmacSignature({
    signature: 'header:x-hook-signature',
    algorithm: 'sha256',
    encoding: 'lower-hex',
    signed: '{body}',
  }),
  options: {
    acceptHandshake: {
      kind: 'function',
      summary:
        'asked about every handshake, with its secret; answer true only while you create a webhook. Left out, all are answered',
    },
  },
  handshake: {
    summary:
      'an unsigned POST with `x-hook-secret`; answered 200 with the same header, and refused where `acceptHandshake` does not say true',
    when: 'header:x-hook-secret',
    answer: giveSecretBack,
  },
  batch: '$.events[*]',
  key: {
    all: [
      'json:$.resource.gid',
      'json:$.action',
      'json:$.created_at',
      { optional: 'json:$.user.gid' },
      { optional: 'json:$.parent.gid' },
      { optional: 'json:$.change.field' },
      // Two followers added in one call differ only here.
      { optional: 'json:$.change.action' },
      { optional: 'json:$.change.new_value.gid' },
      { optional: 'json:$.change.added_value.gid' },
      { optional: 'json:$.change.removed_value.gid' },
    ],
  },
  type: { join: ['json:$.resource.resource_type', 'json:$.action'], with: '.' },
  occurredAt: 'json:$.created_at',
  retryWindowHours: 24,
  timeoutSeconds: 10,
})

/** What an event of Asana carries, as far as it is typed here. */
export interface AsanaPayload {
  readonly action: string
  /** ISO 8601. */
  readonly created_at: string
  readonly resource: {
    readonly gid: string
    readonly resource_type: string
    readonly resource_subtype?: string
  }
  readonly user: { readonly gid: string; readonly resource_type: string } | null
  readonly parent?: { readonly gid: string; readonly resource_type: string } | null
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly change?: Record<string, any>
}

/** The payloads of Asana by event type. Give `asana` a map of your own for exact ones. */
export type AsanaEvents = Readonly<Record<string, AsanaPayload>>

/** What `asana` is configured with. */
export interface AsanaOptions extends SecretOptions {
  /**
   * Asked about every handshake, with its secret: `true` has it answered, anything else refused. A place to
   * keep the secret of a webhook that you are creating right now.
   *
   * @defaultValue every handshake is answered
   */
  readonly acceptHandshake?: (secret: string) => boolean | Promise<boolean>
}

/** What may stand in a header of an answer; Asana's secrets are 32 or 64 hex digits. */
const ECHOED = /^[\x21-\x7e]{1,256}$/

async function giveSecretBack({ find, options }: HandshakeContext) {
  // A delivery that is signed is no handshake, whatever else it carries.
  if (find('header:x-hook-signature') !== '') return undefined
  const secret = find('header:x-hook-secret')
  if (!ECHOED.test(secret)) return 'refuse'
  // `unknown`: what a caller without types returns by mistake is no yes.
  const accept = options['acceptHandshake'] as ((secret: string) => unknown) | undefined
  if (accept !== undefined && (await accept(secret)) !== true) return 'refuse'
  return emptyAnswer(200, { 'x-hook-secret': secret })
}
