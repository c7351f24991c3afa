/**
 * Postmark: basic authentication, and nothing signed. Where something hangs on an event, read it again
 * through the API.
 *
 * Wrong credentials are answered 401. A 403 would make Postmark give up at once.
 *
 * @module
 */

import type { Reading } from '../../body/json-path.ts'
import { defineProvider } from '../define-provider.ts'
import type { Provider } from '../define-provider.ts'
import { basicAuth } from '../schemes/shared-token.ts'
import type { BasicAuthOptions } from '../schemes/shared-token.ts'

/**
 * Postmark's webhooks.
 *
 * Bounces and complaints are known by their `ID`. The others have only the id of the message, which many
 * events share: with the recipient, the time and the link it is the event's. An inbound message is known
 * by its own id.
 */
export const postmark: Provider<PostmarkOptions, PostmarkEvents> = defineProvider({
  provider: 'postmark',
  verify: basicAuth(),
  key: [
    { all: ['json:$.RecordType', 'json:$.ID'] },
    {
      all: [
        'json:$.RecordType',
        'json:$.MessageID',
        { optional: 'json:$.Recipient' },
        // Without a time it is of a kind that is not known here, and its bytes are all there is to know it by.
        ['json:$.DeliveredAt', 'json:$.ReceivedAt', 'json:$.ChangedAt', 'json:$.BouncedAt'],
        { optional: 'json:$.OriginalLink' },
        { optional: 'json:$.UserAgent' },
      ],
    },
    { all: [findInbound, 'json:$.MessageID'] },
  ],
  scope: 'json:$.ServerID',
  type: ['json:$.RecordType', findInbound],
  occurredAt: ['json:$.DeliveredAt', 'json:$.BouncedAt', 'json:$.ReceivedAt', 'json:$.ChangedAt'],
  // An inbound message may have 35 MB of attachments, which are a third more in base64.
  bodyBytesMax: 52_428_800,
  retryWindowHours: 10.5,
})

/** What an event of Postmark carries, as far as it is typed here. */
export interface PostmarkPayload {
  /** Left out for inbound messages. */
  readonly RecordType?: string
  readonly MessageID: string
  readonly ServerID?: number
  readonly MessageStream?: string
  readonly Recipient?: string
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly Metadata?: Record<string, any>
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly [member: string]: any
}

/** The payloads of Postmark by event type. Give `postmark` a map of your own for exact ones. */
export type PostmarkEvents = Readonly<Record<string, PostmarkPayload>>

/** What `postmark` is configured with. */
export type PostmarkOptions = BasicAuthOptions

/** An inbound message has no `RecordType`, and is the one with a parsed sender. */
function findInbound({ json }: Reading): string | undefined {
  const isInbound =
    json?.findText(['RecordType']) === undefined &&
    json?.findValue(['FromFull', 'Email']) !== undefined
  return isInbound ? 'Inbound' : undefined
}
