import type { ClaimedMessage, MessageSettlement } from '../store/contract/messages.ts'
import type { HappeningEmitter } from '../telemetry/emitter.ts'
import { findUnreadable } from './attempt.ts'
import type { AttemptEnd } from './attempt.ts'
import type { Settled } from './settler.ts'

/** Says what became of a message, after it has been committed. */
export function reportEnding(
  happenings: HappeningEmitter,
  {
    message,
    settlement,
    end,
  }: {
    readonly message: ClaimedMessage
    readonly settlement: MessageSettlement
    readonly end: AttemptEnd | undefined
  },
  settled: Settled,
): void {
  // If it was not written, the message will be claimed again.
  if (settled === 'unknown') return
  const { id: messageId, destination, key, attempt, eventId } = message
  const about = { messageId, destination, key, attempt, eventId }
  if (settled === 'lost') {
    // One that was given back unsent has lost nothing with its lease.
    if (settlement.state !== 'given-back') happenings.emit('message.lease-lost', about)
    return
  }
  const error = findUnreadable(message)
  if (error !== undefined) happenings.emit('store.decrypt-failed', { eventId, messageId, error })
  switch (settlement.state) {
    case 'sent':
      return happenings.emit('message.sent', { ...about, durationMs: end?.durationMs ?? 0 })
    case 'ready':
      return happenings.emit('message.failed', {
        ...about,
        reason: settlement.failure.reason,
        detail: settlement.failure.message,
        retryInMs: settlement.retryInMs,
      })
    case 'dead':
      return happenings.emit('message.dead', { ...about, reason: settlement.reason })
    case 'unknown':
      return happenings.emit('message.unknown', { ...about, reason: settlement.reason })
    case 'given-back':
      return
  }
}
