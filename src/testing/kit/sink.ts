/**
 * In the place of every destination: what is sent is written down, and answered as the test says.
 *
 * @module
 */

import { HookonceError } from '../../errors.ts'
import { didYouMean } from '../../options/did-you-mean.ts'
import type { Message } from '../../model/message.ts'
import { destination } from '../../outbox/destination.ts'
import type { Destination, SendContext } from '../../outbox/destination.ts'
import type { CrashPoint } from './crash-points.ts'

/** A message that has reached its destination. */
export interface SentMessage {
  readonly destination: string
  /** The same every time this message is sent. */
  readonly idempotencyKey: string
  /** Which attempt it was, from 1. */
  readonly attempt: number
  /** What was sent, read as JSON; bytes where it is none. */
  readonly payload: unknown
  readonly headers: Readonly<Record<string, string>>
  /** Whether the destination does nothing more for a key that it has seen. */
  readonly honoursKeys: boolean
}

/** What a destination does in a test. Returns: it took the message. Throws: as in a `SendFunction`. */
export type SinkAnswer = (message: SentMessage) => unknown

export interface SinkContext {
  readonly sent: SentMessage[]
  readonly findAnswer: (destination: string) => SinkAnswer | undefined
  /** Never resolves where the process dies. */
  readonly pass: (point: CrashPoint) => Promise<void>
}

/** The destination with its name, policy and schema, and nothing of how it sends. */
export function sinkFor(real: Destination, { sent, findAnswer, pass }: SinkContext): Destination {
  const sink = destination(real.name, async (message, context) => {
    await pass('before-send')
    const arrived = describe(real, message, context)
    await findAnswer(real.name)?.(arrived)
    sent.push(arrived)
    await pass('after-send')
  })
  return { ...sink, policy: real.policy, schema: real.schema }
}

/**
 * Of a name that is misspelt a test would be told that nothing was sent, and what it says the destination does would
 * never be done.
 *
 * @throws HookonceError with the code DESTINATION_UNKNOWN, and the names that there are
 */
export function requireDestination(destinations: readonly Destination[], wanted: string): void {
  const names = destinations.map(({ name }) => name)
  if (names.includes(wanted)) return
  throw new HookonceError(
    'DESTINATION_UNKNOWN',
    `There is no destination "${wanted}"${didYouMean(wanted, names)} Given: ${names.join(', ') || 'none'}`,
  )
}

function describe(
  { name, policy }: Destination,
  { body, headers, contentType }: Message,
  { idempotencyKey, attempt }: SendContext,
): SentMessage {
  return {
    destination: name,
    idempotencyKey,
    attempt,
    payload:
      contentType === 'application/json' ? JSON.parse(Buffer.from(body).toString('utf8')) : body,
    headers,
    honoursKeys: policy.keys === 'honoured',
  }
}
