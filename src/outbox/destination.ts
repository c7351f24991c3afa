/**
 * Where messages go. A destination sends one message and says what became of it; when, how often and
 * whether at all is the relay's business.
 *
 * @module
 */

import { asError, OptionInvalidError } from '../errors.ts'
import { isDestinationName } from '../model/destination-name.ts'
import type { Message, MessageFailureReason, MessageResponse } from '../model/message.ts'
import type { InputOf, StandardSchema } from '../model/standard-schema.ts'
import {
  describeCauses,
  describeError as describeAll,
  describeMessage,
} from '../telemetry/describe-error.ts'
import { PermanentError, RetryAfterError } from '../model/handler-results.ts'
import { resolveDestination } from './options.ts'
import type { DestinationOptions, DestinationPolicy } from './options.ts'

/**
 * Somewhere that messages can be sent to. Made by `destination` or `httpDestination`. `Payload` is what `send` takes
 * for it: what its schema takes in, or anything.
 */
export interface Destination<Name extends string = string, Payload = unknown> {
  /** What `send` calls it by. */
  readonly name: Name
  /** What a payload must be. Left out, anything that can be written as JSON. */
  readonly schema?: StandardSchema | undefined
  /** Its options with their defaults. */
  readonly policy: DestinationPolicy
  /** Sends the message once. Never rejects. */
  send(message: Message, context: SendContext): Promise<SendResult>
  /** Closes connections. */
  close?(): void
  /** Never set. Carries the type of the payload to the handlers. */
  readonly payloadType?: Payload
}

/** What a destination gets beside the message. */
export interface SendContext {
  /** The same every time this message is sent. */
  readonly idempotencyKey: string
  /** Which attempt this is, from 1. */
  readonly attempt: number
  /** Aborts when the attempt's time is up or the relay is stopped for good. */
  readonly signal: AbortSignal
}

/** What became of one attempt to send a message. */
export type SendResult = SendDone | SendFailed

/** It was taken. */
export interface SendDone {
  readonly status: 'sent'
  readonly response: MessageResponse | undefined
}

/** It was not taken, or it cannot be known whether it was. */
export interface SendFailed {
  readonly status: 'failed'
  readonly reason: MessageFailureReason
  readonly message: string
  /** Whether the other side may have taken it all the same. `no` only where that is certain. */
  readonly arrived: 'no' | 'maybe'
  /** Whether the other side is there and answers for itself: the breaker counts those that do not. */
  readonly answered: boolean
  /** Why trying again cannot help. */
  readonly permanent?: string | undefined
  /** What the other side asked for. */
  readonly retryAfterMs?: number | undefined
  /** Why nothing more is to be sent to this destination. */
  readonly gone?: string | undefined
  readonly response?: MessageResponse | undefined
}

/** Says that a message was certainly not taken. Made by `notSent`. */
export class NotSentError extends Error {
  override readonly name = 'NotSentError'
}

/**
 * For a custom destination that knows that nothing happened: `throw notSent('the queue is full')`. The
 * message is sent again later, and is in no doubt. Any other error leaves it in doubt.
 */
export function notSent(reason: string, options?: ErrorOptions): NotSentError {
  return new NotSentError(reason, options)
}

/**
 * Sends a message to wherever you like: mail, an SDK, a queue. Hand `idempotencyKey` on.
 *
 * Return: it is sent. Throw: it may have been, and is sent again later with the same key.
 * `throw notSent(reason)`: it was not. `throw permanent(reason)`: it was not, and is dead.
 * `throw retryAfter(ms)`: it was not, and is sent again, not before.
 */
export type SendFunction = (message: Message, context: SendContext) => unknown

/**
 * A destination through a function of yours: `destination('mail', async (message, { idempotencyKey }) => …)`.
 * See `SendFunction` for what returning and throwing mean, and `DestinationOptions` for the rest.
 *
 * @throws OptionInvalidError for a name or an option that cannot be used
 */
export function destination<const Name extends string>(
  name: Name,
  send: SendFunction,
): Destination<Name>
export function destination<
  const Name extends string,
  Schema extends StandardSchema = StandardSchema,
>(
  name: Name,
  options: DestinationOptions<Schema>,
  send: SendFunction,
): Destination<Name, InputOf<Schema>>
export function destination(
  name: string,
  optionsOrSend: DestinationOptions | SendFunction,
  send?: SendFunction,
): Destination {
  requireDestinationName(name)
  const [options, run] =
    typeof optionsOrSend === 'function' ? [{}, optionsOrSend] : [optionsOrSend, send]
  const path = `destination(${JSON.stringify(name)})`
  if (typeof run !== 'function') throw new OptionInvalidError(`${path}.send`, 'a function', run)
  return {
    name,
    ...resolveDestination(path, options),
    send: async (message, context) => runSend(run, message, context),
  }
}

export function requireDestinationName(name: unknown): asserts name is string {
  if (typeof name === 'string' && isDestinationName(name)) return
  throw new OptionInvalidError('destination.name', 'written with a-z, 0-9, - and _ only', name)
}

async function runSend(
  send: SendFunction,
  message: Message,
  context: SendContext,
): Promise<SendResult> {
  const aborted = abortionOf(context.signal)
  try {
    // One that does not look at its signal must not hold its place for ever.
    await Promise.race([Promise.resolve(send(message, context)), aborted.promise])
    return { status: 'sent', response: undefined }
  } catch (thrown) {
    return failedBy(thrown, context.signal)
  } finally {
    aborted.forget()
  }
}

function abortionOf(signal: AbortSignal): { promise: Promise<never>; forget: () => void } {
  let listener: () => void = () => undefined
  const promise = new Promise<never>((_resolve, reject) => {
    listener = () => reject(asError(signal.reason))
    signal.addEventListener('abort', listener)
    if (signal.aborted) listener()
  })
  promise.catch(() => undefined)
  return { promise, forget: () => signal.removeEventListener('abort', listener) }
}

function failedBy(thrown: unknown, signal: AbortSignal): SendFailed {
  const error = asError(thrown)
  const message = describeError(error)
  if (error instanceof PermanentError) {
    const { message: permanent } = describeAll(error)
    return { ...FAILED, reason: 'error', message, arrived: 'no', permanent }
  }
  if (error instanceof RetryAfterError)
    return { ...FAILED, reason: 'error', message, arrived: 'no', retryAfterMs: error.retryInMs }
  if (error instanceof NotSentError) return { ...FAILED, reason: 'error', message, arrived: 'no' }
  const reason = signal.aborted ? 'timeout' : 'error'
  return { ...FAILED, reason, message, arrived: 'maybe', answered: false }
}

const FAILED = { status: 'failed', answered: true } as const

const MESSAGE_LENGTH_MAX = 2_000

/** With its causes: of a fetch that failed, the message says no more than that. */
export function describeError(error: Error): string {
  const own = describeMessage(error)
  const text = error.name === 'Error' ? `Error: ${own}` : own
  const causes = describeCauses(error)?.replaceAll('\n', ', caused by ')
  return (causes === undefined ? text : `${text}, caused by ${causes}`).slice(0, MESSAGE_LENGTH_MAX)
}
