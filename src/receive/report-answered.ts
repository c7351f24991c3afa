/**
 * That a sender has its answer, told once for each delivery.
 *
 * @module
 */

import { HookonceError } from '../errors.ts'
import type { Acknowledgement } from '../model/acknowledgement.ts'
import type { HappeningEmitter } from '../telemetry/emitter.ts'

export function reportAnswered(
  happenings: HappeningEmitter,
  sourceName: string,
  { outcome }: Acknowledgement,
  durationMs: number,
): void {
  // A name that is not configured is a stranger's text, and there are as many as strangers like.
  const source = outcome === 'unknown-source' ? '' : sourceName
  happenings.emit('delivery.answered', { source, outcome, durationMs })
}

/** Says that something read the body before us. */
export function reportParsed(happenings: HappeningEmitter, source: string, hint: string): void {
  happenings.emit('delivery.body-parsed', { source, hint })
  happenings.emit('delivery.answered', { source, outcome: 'body-parsed', durationMs: undefined })
}

/** Says that a body was refused before it was read to its end. */
export function reportUnread(
  happenings: HappeningEmitter,
  source: string,
  reason: 'too-large' | 'too-slow' | 'no-room',
): void {
  const outcome = reason === 'no-room' ? 'unavailable' : reason
  if (reason === 'no-room') happenings.emit('delivery.unavailable', { source, error: full() })
  else happenings.emit('delivery.malformed', { source, reason })
  happenings.emit('delivery.answered', { source, outcome, durationMs: undefined })
}

function full(): HookonceError {
  return new HookonceError(
    'RECEIVE_FULL',
    'The bodies of deliveries on their way take receive.inFlightBytesMax already',
    { retryable: true },
  )
}
