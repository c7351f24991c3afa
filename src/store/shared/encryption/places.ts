/**
 * Where what is encrypted is stored: the names that are authenticated with it. A name that was used once is never given
 * another meaning, or rows from before could not be opened.
 *
 * @module
 */

import type { EventId } from '../../../model/event.ts'
import type { Place } from './cipher.ts'

export const places = {
  eventBody: (id: EventId, source: string): Place => ({ table: 'events.body', id, source }),
  eventHeaders: (id: EventId, source: string): Place => ({ table: 'events.headers', id, source }),
  requestBody: (id: EventId, source: string): Place => ({ table: 'requests.body', id, source }),
  runBody: (id: EventId): Place => ({ table: 'runs.body', id, source: '' }),
  outcome: (id: EventId, column: 'reason' | 'result'): Place => ({
    table: `outcomes.${column}`,
    id,
    source: '',
  }),
  attempt: (id: EventId, column: 'message' | 'stack' | 'cause'): Place => ({
    table: `attempts.${column}`,
    id,
    source: '',
  }),
  /** The step's name beside the event: its place in the handler is not known to every caller that writes its result. */
  stepResult: (id: EventId, name: string): Place => ({ table: 'steps.result', id, source: name }),
  /** A message is known by its key and its destination before it has an id. */
  message: (
    { destination, key }: { readonly destination: string; readonly key: string },
    column: 'body' | 'headers',
  ): Place => ({ table: `messages.${column}`, id: key, source: destination }),
  /** What became of a message: its outcome and its attempts. */
  sent: (id: string, column: 'reason' | 'message' | 'head' | 'body'): Place => ({
    table: `message_attempts.${column}`,
    id,
    source: '',
  }),
} as const
