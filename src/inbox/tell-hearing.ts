import type { Hearing } from '../store/contract/queue.ts'
import type { HappeningEmitter } from '../telemetry/emitter.ts'

/** Tells when this process no longer hears of the work of others, and when it does again. */
export function tellHearing(happenings: HappeningEmitter): (hearing: Hearing) => void {
  let lostAt = 0
  return (hearing) => {
    if (hearing.isUp) {
      const downMs = Math.round(performance.now() - lostAt)
      return happenings.emit('store.listen-restored', { downMs })
    }
    lostAt = performance.now()
    happenings.emit('store.listen-lost', { error: hearing.error })
  }
}
