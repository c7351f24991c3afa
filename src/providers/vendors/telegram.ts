/**
 * Telegram's Bot API: a token in a header, and nothing signed. `update_id` counts per bot, so give each
 * bot a source of its own.
 *
 * @module
 */

import type { Reading } from '../../body/json-path.ts'
import { defineProvider } from '../define-provider.ts'
import type { Provider } from '../define-provider.ts'
import { sharedToken } from '../schemes/shared-token.ts'
import type { TokenOptions } from '../schemes/shared-token.ts'

/** Telegram's updates. One is known by its `update_id`; its type is what it carries, such as `message`. */
export const telegram: Provider<TelegramOptions, TelegramEvents> = defineProvider({
  provider: 'telegram',
  verify: sharedToken({ at: 'header:x-telegram-bot-api-secret-token' }),
  key: 'json:$.update_id',
  type: findType,
  occurredAt: (reading) => {
    const json = reading.json
    const type = findType(reading)
    if (json === undefined || type === undefined) return undefined
    return json.findText([type, 'edit_date']) ?? json.findText([type, 'date'])
  },
  // Rises by one while updates flow; after a week without any the next is random.
  sequence: 'json:$.update_id',
  // A JSON body with a `method` in it would be run as a call of the Bot API.
  success: { body: 'empty' },
  retryWindowHours: 24,
})

/** What an event of Telegram Bot API carries, as far as it is typed here. */
export interface TelegramPayload {
  readonly update_id: number
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly [member: string]: any
}

/** The payloads of Telegram Bot API by event type. Give `telegram` a map of your own for exact ones. */
export type TelegramEvents = Readonly<Record<string, TelegramPayload>>

/** What `telegram` is configured with. */
export type TelegramOptions = TokenOptions

/** The one member beside the id. */
function findType({ json }: Reading): string | undefined {
  const update = json?.findValue([])
  if (typeof update !== 'object' || update === null) return undefined
  const names = Object.keys(update).filter((name) => name !== 'update_id')
  return names.length === 1 ? names[0] : undefined
}
