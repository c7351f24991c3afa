import { UnreadableError } from '../errors.ts'
import type { HappeningEmitter } from '../telemetry/emitter.ts'
import type { EventId } from '../model/event.ts'
import type { Settlement } from '../model/outcome.ts'
import type { SettledEvent } from './settlement.ts'

export interface SettlementListener {
  readonly happenings: HappeningEmitter
  /** The rest of this process may wait for it: a sender who is answered with the outcome, the memory of keys. */
  readonly onSettled: (eventId: EventId, state: Settlement['state']) => void
}

/** Says what became of an event, after it has been committed. */
export function reportSettlement(
  { happenings, onSettled }: SettlementListener,
  { event, settlement, error }: Pick<SettledEvent, 'event' | 'settlement' | 'error'>,
): void {
  const { eventId, source, key, type, attempt } = event
  onSettled(eventId, settlement.state)
  if (error instanceof UnreadableError)
    happenings.emit('store.decrypt-failed', { eventId, messageId: undefined, error })
  if (settlement.state === 'done') {
    // Written out: spread objects were 1 of the 19 kilobytes of garbage that an event made.
    const { durationMs, result } = settlement
    const done = { eventId, source, key, type, attempt, durationMs, result }
    return happenings.emit('event.done', done)
  }
  const about = { eventId, source, key, type, attempt }
  switch (settlement.state) {
    case 'skipped':
      return happenings.emit('event.skipped', {
        ...about,
        durationMs: settlement.durationMs,
        reason: settlement.reason,
      })
    case 'unhandled':
      return happenings.emit('event.unhandled', about)
    case 'dead':
      return happenings.emit('event.dead', {
        ...about,
        reason: settlement.reason,
        handler: settlement.failure.handler,
        error,
      })
    case 'ready':
      return happenings.emit('event.failed', {
        ...about,
        reason: settlement.failure.reason,
        handler: settlement.failure.handler,
        error: error ?? new Error(settlement.failure.message),
        retryInMs: settlement.retryInMs,
      })
  }
}
