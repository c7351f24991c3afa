import type { HappeningEmitter } from '../telemetry/emitter.ts'
import type { SettledEvent } from './settlement.ts'

/** Says what became of an event, after it has been committed. */
export function reportSettlement(
  happenings: HappeningEmitter,
  { event, settlement, error }: SettledEvent,
): void {
  const { eventId, source, key, type, attempt } = event
  const about = { eventId, source, key, type, attempt }
  switch (settlement.state) {
    case 'done':
      return happenings.emit('event.done', {
        ...about,
        durationMs: settlement.durationMs,
        result: settlement.result,
      })
    case 'skipped':
      return happenings.emit('event.skipped', {
        ...about,
        durationMs: settlement.durationMs,
        reason: settlement.reason,
      })
    case 'unhandled':
      return happenings.emit('event.unhandled', about)
    case 'dead':
      return happenings.emit('event.dead', { ...about, reason: settlement.reason, error })
    case 'ready':
      return happenings.emit('event.failed', {
        ...about,
        reason: settlement.failure.reason,
        error: error ?? new Error(settlement.failure.message),
        retryInMs: settlement.retryInMs,
      })
  }
}
