/**
 * WorkOS: `workos-signature: t=<milliseconds>, v1=<hex>`, with a space after the comma.
 *
 * Some versions of its library write the parsed body as JSON again and check that. Here it is the bytes
 * that arrived, as WorkOS's documents have it: other white space is another body.
 *
 * @module
 */

import { defineProvider } from '../define-provider.ts'
import type { Provider } from '../define-provider.ts'
import type { SecretOptions } from '../define-source.ts'
import { hmacSignature } from '../schemes/hmac-signature.ts'

/** WorkOS's webhooks. An event is known by its `id`; `data.id` is that of the user, group or connection. */
export const workos: Provider<WorkosOptions, WorkosEvents> = defineProvider({
  provider: 'workos',
  verify: hmacSignature({
    signature: 'header:workos-signature',
    list: { separator: ',', timestamp: 't=' },
    prefix: 'v1=',
    algorithm: 'sha256',
    // Compared as text by its library, which writes small letters.
    encoding: 'lower-hex',
    // Three minutes, as its library has it; that one lets any future time in.
    timestamp: { format: 'milliseconds', toleranceSeconds: 180 },
    signed: '{timestamp}.{body}',
  }),
  key: 'json:$.id',
  type: 'json:$.event',
  occurredAt: 'json:$.created_at',
  // ISO 8601 in UTC to the millisecond, so that the later one is also the greater text.
  version: 'json:$.data.updated_at',
  retryWindowHours: 72,
})

/** What an event of WorkOS carries, as far as it is typed here. */
export interface WorkosPayload {
  readonly id: string
  readonly event: string
  /** ISO 8601. */
  readonly created_at: string
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly data: Record<string, any>
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly context?: Record<string, any>
}

/** The payloads of WorkOS by event type. Give `workos` a map of your own for exact ones. */
export type WorkosEvents = Readonly<Record<string, WorkosPayload>>

/** What `workos` is configured with. */
export type WorkosOptions = SecretOptions
