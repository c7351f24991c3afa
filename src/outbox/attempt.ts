/**
 * One attempt at one message, from the doubt it may be in to what is written of it.
 *
 *     claimed ─▶ in doubt? ─▶ look, or give it to a person ─▶ send ─▶ settlement
 *
 * What this module promises:
 *
 * - A message is sent with its own key and no other.
 * - Once it may have arrived it is sent again only where that cannot make it happen twice: while the
 *   other side remembers the key, or after a look, or because an operator has asked for it in so many words.
 * - A relay that dies uses up none of the attempts that a message has. One that is taken over again and again comes to
 *   its end all the same.
 * - Nothing but a success, or a look, ends the doubt: an attempt that was certainly not taken says
 *   nothing of those before it.
 *
 * @module
 */

import { createHash } from 'node:crypto'
import { asError, UnreadableError } from '../errors.ts'
import type { MessageFailure } from '../model/message.ts'
import { areSealed } from '../model/sealed-headers.ts'
import type { ClaimedMessage, Doubt, MessageSettlement } from '../store/contract/messages.ts'
import { backoffMs } from '../model/retry-policy.ts'
import { describeError } from './destination.ts'
import type { Destination, SendFailed, SendResult } from './destination.ts'
import type { DestinationPolicy } from './options.ts'

export interface AttemptContext {
  /** How long ago the message was claimed, at most. */
  readonly sinceClaimMs: () => number
  /** Ends the attempt, with the relay. */
  readonly signal: AbortSignal
  /** Called when a message that may have arrived is sent again to a destination that ignores keys. */
  readonly onResend: (message: ClaimedMessage) => void
}

export interface AttemptEnd {
  readonly settlement: MessageSettlement
  /** What the destination said, where it was asked. */
  readonly result: SendResult | undefined
  readonly durationMs: number
}

/** Never rejects. */
export async function attemptMessage(
  context: AttemptContext,
  destination: Destination,
  message: ClaimedMessage,
): Promise<AttemptEnd> {
  const startedAt = performance.now()
  const { policy } = destination
  const end = (settlement: MessageSettlement, result?: SendResult): AttemptEnd => ({
    settlement,
    result,
    durationMs: performance.now() - startedAt,
  })

  const unreadable = findUnreadable(message)
  if (unreadable !== undefined) {
    const failed = failedBy(unreadable)
    return end(settlementOf(policy, message, failed, { isCleared: false, startedAt }))
  }

  let isCleared = false
  switch (decideInDoubt(policy, message, context.sinceClaimMs())) {
    case 'send':
      break
    case 'too-often':
      return end(unknownOf(policy, message, TOO_OFTEN))
    case 'too-late':
      return end(unknownOf(policy, message, describeTooLate(policy)))
    case 'ask':
      return end(
        unknownOf(policy, message, 'it may have arrived, and the destination ignores keys'),
      )
    case 'resend':
      context.onResend(message)
      break
    case 'check': {
      const found = await check(context, destination, message)
      if (found.status === 'arrived')
        return end({ id: message.id, token: message.token, state: 'sent', response: undefined })
      if (found.status === 'failed')
        return end(settlementOf(policy, message, found, { isCleared, startedAt }))
      isCleared = true
    }
  }

  const result = await sendInTime(context, destination, message)
  return end(settlementOf(policy, message, result, { isCleared, startedAt }), result)
}

/** Why the message cannot be decrypted; a store without keys hands over what is encrypted as it is. */
export function findUnreadable({
  unreadable,
  headers,
  id,
}: ClaimedMessage): UnreadableError | undefined {
  if (unreadable !== undefined || !areSealed(headers)) return unreadable
  return new UnreadableError('ENCRYPTION_KEY_MISSING', `messages.body of ${id}`)
}

/** The message is not sent. Where this process lacks the key, another one may have it. */
function failedBy({ code, message }: UnreadableError): SendFailed {
  return {
    status: 'failed',
    reason: 'unreadable',
    message,
    arrived: 'no',
    answered: false,
    ...(code === 'DECRYPT_FAILED' && { permanent: message }),
  }
}

type InDoubt = 'send' | 'too-often' | 'too-late' | 'ask' | 'check' | 'resend'

/** What to do with a message, by whether it may have arrived before. */
function decideInDoubt(
  { keys, keyLifetimeMs, onUncertain, timeoutMs }: DestinationPolicy,
  { uncertainForMs, takeovers }: Pick<ClaimedMessage, 'uncertainForMs' | 'takeovers'>,
  sinceClaimMs: number,
): InDoubt {
  if (uncertainForMs === undefined) return 'send'
  if (takeovers > TAKEOVERS_MAX) return 'too-often'
  if (keys === 'ignored') return onUncertain
  // The key must still be known when the request gets there.
  return uncertainForMs + sinceClaimMs + timeoutMs > keyLifetimeMs ? 'too-late' : 'send'
}

/**
 * So many relays may die with a message before a person looks at it. Far more than crashes of an event: whatever else
 * a relay held when it died is taken over with the one that ended it.
 */
const TAKEOVERS_MAX = 20
const TOO_OFTEN = `it may have arrived, and more than ${TAKEOVERS_MAX} relays died while they held it`

function describeTooLate({ keyLifetimeMs }: DestinationPolicy): string {
  return `it may have arrived, and the destination remembers keys for ${keyLifetimeMs} ms only`
}

type Found = { readonly status: 'arrived' | 'absent' } | SendFailed

async function check(
  { signal }: AttemptContext,
  { policy }: Destination,
  message: ClaimedMessage,
): Promise<Found> {
  try {
    const found = await withTimeout(policy.timeoutMs, signal, async (ending) =>
      policy.check?.(message, { idempotencyKey: message.key, signal: ending.signal }),
    )
    if (found === 'arrived' || found === 'absent') return { status: found }
    return { ...CHECK_FAILED, message: 'the check could not tell whether it arrived' }
  } catch (error) {
    return { ...CHECK_FAILED, message: `the check failed: ${describeError(asError(error))}` }
  }
}

/** The doubt stays what it was: nothing was sent. */
const CHECK_FAILED = { status: 'failed', reason: 'check', arrived: 'no', answered: true } as const

async function sendInTime(
  { signal }: AttemptContext,
  destination: Destination,
  message: ClaimedMessage,
): Promise<SendResult> {
  const { key, attempt } = message
  return withTimeout(destination.policy.timeoutMs, signal, async (ending) =>
    destination.send(message, {
      idempotencyKey: key,
      attempt,
      get signal() {
        return ending.signal
      },
    }),
  )
}

/** Ends the work by a signal when its time is over, and waits for it, since only the work knows what became of it. */
async function withTimeout<T>(
  timeoutMs: number,
  outer: AbortSignal,
  work: (ending: Ending) => Promise<T>,
): Promise<T> {
  const ending = new Ending(timeoutMs, outer)
  try {
    return await work(ending)
  } finally {
    ending.clear()
  }
}

/** The end of an attempt's time. No signal is made until a `send` asks for it: HTTP has its own clock. */
class Ending {
  readonly #timeoutMs: number
  readonly #outer: AbortSignal
  readonly #startedAt = performance.now()
  #controller: AbortController | undefined
  #timer: NodeJS.Timeout | undefined

  constructor(timeoutMs: number, outer: AbortSignal) {
    this.#timeoutMs = timeoutMs
    this.#outer = outer
  }

  get signal(): AbortSignal {
    if (this.#controller !== undefined) return this.#controller.signal
    const controller = new AbortController()
    this.#controller = controller
    const leftMs = this.#startedAt + this.#timeoutMs - performance.now()
    this.#timer = setTimeout(() => controller.abort(timedOut(this.#timeoutMs)), Math.max(0, leftMs))
    this.#outer.addEventListener('abort', this.#onAbort)
    if (this.#outer.aborted) this.#onAbort()
    return controller.signal
  }

  clear(): void {
    clearTimeout(this.#timer)
    this.#outer.removeEventListener('abort', this.#onAbort)
  }

  readonly #onAbort = (): void => this.#controller?.abort(this.#outer.reason)
}

function timedOut(timeoutMs: number): Error {
  const error = new Error(`It did not end within ${timeoutMs} ms (timeoutMs)`)
  return Object.assign(error, { name: 'TimeoutError' })
}

/** What a result means, by the destination's policy. */
function settlementOf(
  policy: DestinationPolicy,
  message: ClaimedMessage,
  result: SendResult,
  { isCleared, startedAt }: { isCleared: boolean; startedAt: number },
): MessageSettlement {
  const { id, token } = message
  if (result.status === 'sent') return { id, token, state: 'sent', response: result.response }
  const doubt = doubtOf(result, isCleared)
  const blocksLane = policy.onDead === 'block'
  // Nothing is wrong with the message. It waits until an operator resumes the destination.
  if (result.gone !== undefined)
    return { id, token, state: 'given-back', retryInMs: policy.retry.firstMs }

  const failure: MessageFailure = {
    reason: result.reason,
    message: result.message,
    durationMs: performance.now() - startedAt,
    response: result.response,
  }
  if (policy.keys === 'ignored' && policy.onUncertain === 'ask' && result.arrived === 'maybe') {
    const reason = 'it may have arrived, and the destination ignores keys'
    return { id, token, state: 'unknown', reason, doubt, failure, blocksLane }
  }
  const { answer, sameAnswers } = countAnswers(message, result)
  const dead = findEnd(policy, message, result, sameAnswers)
  if (dead !== undefined)
    return { id, token, state: 'dead', reason: dead, doubt, failure, blocksLane }
  const retryInMs = findDelay(policy, message, result)
  return { id, token, state: 'ready', retryInMs, doubt, failure, answer, sameAnswers }
}

function doubtOf({ arrived }: SendFailed, isCleared: boolean): Doubt {
  if (arrived === 'maybe') return 'since-claim'
  return isCleared ? 'cleared' : 'keep'
}

function findEnd(
  policy: DestinationPolicy,
  message: ClaimedMessage,
  result: SendFailed,
  sameAnswers: number,
): string | undefined {
  if (result.permanent !== undefined) return result.permanent
  if (sameAnswers >= policy.sameAnswersMax) {
    return (
      `the same answer 500 came ${sameAnswers} times: the destination has probably stored it for this key ` +
      'and will give no other, so find out there whether it happened'
    )
  }
  return countFailed(message) >= policy.retry.attemptsMax
    ? `${result.message}, at the last attempt`
    : undefined
}

/** With the one that has just failed. It says nothing of a message that the relay that held it was killed. */
function countFailed({ attempt, takeovers }: ClaimedMessage): number {
  return attempt - takeovers
}

/** Not sooner than the destination asks for. One that asks for "at once" does not get all attempts in a second. */
function findDelay(
  policy: DestinationPolicy,
  message: ClaimedMessage,
  { retryAfterMs = 0 }: SendFailed,
): number {
  return retryAfterMs > 0 ? retryAfterMs : backoffMs(policy.retry, countFailed(message))
}

/**
 * Counts equal answers in a row. Only 500 is counted: 502 to 504 are a gateway's words for "no server is
 * there", equal for every message and as long as an outage lasts.
 */
function countAnswers(
  message: ClaimedMessage,
  { response }: SendFailed,
): { answer: string | undefined; sameAnswers: number } {
  if (response?.status !== 500) return { answer: undefined, sameAnswers: 0 }
  const answer = createHash('sha256').update(response.body).digest('base64url')
  return { answer, sameAnswers: message.answer === answer ? message.sameAnswers + 1 : 1 }
}

function unknownOf(
  { onDead }: DestinationPolicy,
  { id, token }: ClaimedMessage,
  reason: string,
): MessageSettlement {
  const blocksLane = onDead === 'block'
  return { id, token, state: 'unknown', reason, doubt: 'keep', failure: undefined, blocksLane }
}
