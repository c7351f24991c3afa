/**
 * Figma, webhooks V2: a passcode in the body, and nothing signed. It is checked and not kept.
 *
 * Figma stops a webhook for good that is answered 400, as it advises for a wrong passcode. We answer 401,
 * so that a passcode that was mistyped on our side does not end the webhook.
 *
 * @module
 */

import { createHash } from 'node:crypto'
import type { Reading } from '../../body/json-path.ts'
import { defineProvider } from '../define-provider.ts'
import type { Provider } from '../define-provider.ts'
import { emptyAnswer } from '../handshake.ts'
import { sharedToken } from '../schemes/shared-token.ts'
import type { TokenOptions } from '../schemes/shared-token.ts'

/**
 * Figma's webhooks.
 *
 * An event has no id. It is known by its webhook, type, time and file, and by what it is about: the
 * comment, the version, the node.
 */
export const figma: Provider<FigmaOptions, FigmaEvents> = defineProvider({
  provider: 'figma',
  verify: sharedToken({ at: 'json:$.passcode' }),
  handshake: {
    summary: 'a POST of the type `PING` with the passcode, at creation; answered 200',
    when: ['json:$.event_type', 'PING'],
    signed: true,
    answer: () => emptyAnswer(),
  },
  key: {
    all: [
      'json:$.webhook_id',
      'json:$.event_type',
      'json:$.timestamp',
      { optional: 'json:$.file_key' },
      { optional: 'json:$.comment_id' },
      { optional: 'json:$.version_id' },
      { optional: 'json:$.node_id' },
      { optional: findPublished },
    ],
  },
  type: 'json:$.event_type',
  occurredAt: 'json:$.timestamp',
  version: 'json:$.version_id',
  // Counts the attempts.
  volatile: ['$.retries'],
  unstored: ['$.passcode'],
  retryWindowHours: 3.5,
})

/** What an event of Figma carries, as far as it is typed here. */
export interface FigmaPayload {
  readonly event_type: string
  readonly webhook_id: string
  /** When it happened, in ISO 8601. */
  readonly timestamp: string
  readonly file_key?: string
  readonly file_name?: string
  /** How many attempts there were before. */
  readonly retries?: number
  /** Always empty: it is checked and not kept. */
  readonly passcode?: string
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly triggered_by?: Record<string, any>
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly [member: string]: any
}

/** The payloads of Figma by event type. Give `figma` a map of your own for exact ones. */
export type FigmaEvents = Readonly<Record<string, FigmaPayload>>

/** What `figma` is configured with. */
export type FigmaOptions = TokenOptions

/** One publishing makes an event for each kind of asset: same file, same second, other lists. */
function findPublished({ json, bytes }: Reading): string | undefined {
  if (json?.findValue(['event_type']) !== 'LIBRARY_PUBLISH') return undefined
  const content = json.findBytesWithout([['passcode'], ['retries']]) ?? bytes
  return createHash('sha256').update(content).digest('hex')
}
