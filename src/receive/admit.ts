/**
 * The door: from one HTTP delivery to events that are verified, or to an answer.
 *
 *     delivery ─▶ find source ─▶ limits ─▶ verify ─▶ identify ─▶ take
 *                     404      405/413/415   401/400               503
 *                                 400
 *
 * A sender that only checks the endpoint is answered before or after `verify`, as its handshake asks,
 * and leaves nothing behind.
 *
 * What this module promises: nothing unverified is taken or logged, and nothing of it is read but what
 * an unsigned handshake needs. Whatever goes wrong on our side, in here or in `take`, is a 503.
 *
 * What it leaves to others: what becomes of the events. The inbox stores them (`receive.ts`); the
 * guard, which has no store, runs them (`guard/`).
 *
 * @module
 */

import { asError, CommitUnknownError, HookonceError } from '../errors.ts'
import type { Acknowledgement } from '../model/acknowledgement.ts'
import type { Delivery } from '../model/delivery.ts'
import type {
  BelievedVerdict,
  HandshakeAnswer,
  Identified,
  Source,
  VerdictReason,
} from '../model/source.ts'
import type { HappeningEmitter } from '../telemetry/emitter.ts'
import { handshaken, malformed, refused, unavailable, unknownSource } from './acknowledge.ts'
import { findBreach, keepWithin } from './limits.ts'

export interface DoorContext {
  readonly sources: ReadonlyMap<string, Source>
  readonly options: { readonly bodyBytesMax: number; readonly eventsMax: number }
  readonly happenings: HappeningEmitter
}

/** What the door let in. */
export interface Admitted {
  readonly source: Source
  readonly events: Identified
  /** What `verify` said of the delivery. */
  readonly verdict: BelievedVerdict
}

/** Never rejects. `take` is called once at most, and only with what is verified. */
export async function passDoor(
  context: DoorContext,
  sourceName: string,
  delivery: Delivery,
  take: (admitted: Admitted) => Promise<Acknowledgement>,
): Promise<Acknowledgement> {
  const source = context.sources.get(sourceName)
  if (source === undefined) return unknownSource()
  try {
    const breach = findBreach(source, delivery, context.options)
    if (breach !== undefined) return reportBreach(context, sourceName, breach)

    const greeting = source.handshake && (await source.handshake(delivery, 'unverified'))
    if (greeting !== undefined) return greet(context, sourceName, source, greeting)

    const verifying = source.verify(delivery)
    const verdict = 'ok' in verifying ? verifying : await verifying
    if (!verdict.ok) return refuse(context, sourceName, source, verdict.reason)

    const signedGreeting = source.handshake && (await source.handshake(delivery, 'verified'))
    if (signedGreeting !== undefined) return greet(context, sourceName, source, signedGreeting)

    const events = source.identify(delivery, verdict, context.options)
    return await take({ source, events: keepWithin(context.options, events), verdict })
  } catch (error) {
    return reportUnavailable(context, sourceName, error)
  }
}

function greet(
  context: DoorContext,
  sourceName: string,
  source: Source,
  greeting: HandshakeAnswer | 'refuse',
): Acknowledgement {
  if (greeting === 'refuse') return refuse(context, sourceName, source, 'bad-token')
  context.happenings.emit('delivery.handshake', { source: sourceName, status: greeting.status })
  return handshaken(greeting)
}

function refuse(
  { happenings }: DoorContext,
  sourceName: string,
  { refusal }: Source,
  reason: VerdictReason,
): Acknowledgement {
  happenings.emit('delivery.refused', { source: sourceName, reason })
  if (reason === 'key-unavailable') return unavailable()
  return reason === 'malformed-timestamp' || reason === 'malformed-header'
    ? malformed()
    : refused(refusal)
}

function reportBreach(
  { happenings }: DoorContext,
  source: string,
  breach: Acknowledgement,
): Acknowledgement {
  happenings.emit('delivery.malformed', { source, reason: breach.outcome })
  return breach
}

/** Says that a body was refused before it was read to its end. */
export function reportUnread(
  happenings: HappeningEmitter,
  source: string,
  reason: 'too-large' | 'too-slow' | 'no-room',
): void {
  if (reason !== 'no-room') return happenings.emit('delivery.malformed', { source, reason })
  const error = new HookonceError(
    'RECEIVE_FULL',
    'The bodies of deliveries on their way take receive.inFlightBytesMax already',
    { retryable: true },
  )
  return happenings.emit('delivery.unavailable', { source, error })
}

function reportUnavailable(
  { happenings }: DoorContext,
  source: string,
  cause: unknown,
): Acknowledgement {
  const error = asError(cause)
  if (error instanceof CommitUnknownError) happenings.emit('store.commit-unknown', { error })
  happenings.emit('delivery.unavailable', { source, error })
  return unavailable()
}
