/**
 * Anthropic's platform (beta): Standard Webhooks to the letter.
 *
 * @module
 */

import { defineProvider } from '../define-provider.ts'
import type { Provider } from '../define-provider.ts'
import { standardSignature } from '../schemes/standard-signature.ts'
import type { StandardOptions } from '../schemes/standard-signature.ts'

/**
 * Anthropic's webhooks.
 *
 * An event is known by the `id` in its body. `data.id` is that of the session or agent it is about, and
 * `type` is always `event`: what happened is `data.type`.
 */
export const anthropic: Provider<AnthropicOptions, AnthropicEvents> = defineProvider({
  provider: 'anthropic',
  verify: standardSignature({ names: ['webhook'] }),
  key: 'json:$.id',
  scope: {
    all: [{ optional: 'json:$.data.organization_id' }, { optional: 'json:$.data.workspace_id' }],
  },
  type: 'json:$.data.type',
  occurredAt: 'json:$.created_at',
  // It does retry; for how long is not documented.
  retryWindowHours: null,
})

/** Says what happened to which object, and no more: read the object through the API. */
export interface AnthropicPayload {
  readonly type: 'event'
  readonly id: string
  /** ISO 8601. */
  readonly created_at: string
  readonly data: {
    readonly type: string
    readonly id: string
    readonly organization_id: string
    readonly workspace_id: string
    // eslint-disable-next-line @typescript-eslint/no-explicit-any
    readonly [member: string]: any
  }
}

/** The payloads of Anthropic by event type. Give `anthropic` a map of your own for exact ones. */
export type AnthropicEvents = Readonly<Record<string, AnthropicPayload>>

/** What `anthropic` is configured with. */
export type AnthropicOptions = StandardOptions
