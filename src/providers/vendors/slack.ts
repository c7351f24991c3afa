/**
 * Slack: `x-slack-signature: v0=<hex>` over `v0:<timestamp>:<body>`, for events (JSON) as for commands
 * and interactions (forms).
 *
 * Slack waits three seconds, and its retry may come while the first request still runs.
 *
 * @module
 */

import type { Reading } from '../../body/json-path.ts'
import { JsonBody } from '../../body/json-body.ts'
import { findFormField } from '../../body/form-body.ts'
import { defineProvider } from '../define-provider.ts'
import type { Provider } from '../define-provider.ts'
import type { SecretOptions } from '../define-source.ts'
import { textAnswer } from '../handshake.ts'
import { hmacSignature } from '../schemes/hmac-signature.ts'

/** Slack's Events API, slash commands and interactions. An event is known by its `event_id`. */
export const slack: Provider<SlackOptions, SlackEvents> = defineProvider({
  provider: 'slack',
  verify: hmacSignature({
    signature: 'header:x-slack-signature',
    prefix: 'v0=',
    algorithm: 'sha256',
    encoding: 'hex',
    timestamp: {
      at: 'header:x-slack-request-timestamp',
      format: 'seconds',
      toleranceSeconds: 300,
    },
    signed: 'v0:{timestamp}:{body}',
  }),
  handshake: {
    summary: 'a signed POST of the type `url_verification`; answered 200 with its `challenge`',
    when: ['json:$.type', 'url_verification'],
    signed: true,
    answer: ({ find }) => textAnswer(find('json:$.challenge')),
  },
  // Commands and interactions have no event id; a trigger id is made for each of them.
  key: ['json:$.event_id', 'form:trigger_id', findInPayload('trigger_id')],
  type: ['json:$.event.type', 'json:$.type', 'form:command', findInPayload('type')],
  occurredAt: 'json:$.event_time',
  retryWindowHours: 0.1,
  timeoutSeconds: 3,
})

/** What an `event_callback` has. */
export interface SlackPayload {
  readonly type?: string
  readonly event_id?: string
  readonly event_time?: number
  readonly team_id?: string
  readonly api_app_id?: string
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly event?: Record<string, any>
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly [member: string]: any
}

/** The payloads of Slack by event type. Give `slack` a map of your own for exact ones. */
export type SlackEvents = Readonly<Record<string, SlackPayload>>

/** What `slack` is configured with. */
export type SlackOptions = SecretOptions

/** Interactions are JSON in the form field `payload`. */
function findInPayload(member: string): (reading: Reading) => string | undefined {
  return ({ delivery }) => {
    const payload = findFormField(delivery.body, 'payload')
    return payload === undefined
      ? undefined
      : JsonBody.find(Buffer.from(payload, 'utf8'))?.findText([member])
  }
}
