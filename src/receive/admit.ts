/**
 * From one HTTP delivery to events that are verified, or to an answer.
 *
 *     delivery ─▶ find source ─▶ limits ─▶ verify ─▶ identify ─▶ admitted
 *                     404      405/413/415   401/400
 *                                 400
 *
 * A sender that only checks the endpoint is answered before or after `verify`, as its handshake asks,
 * and leaves nothing behind. So is a probe of `hookonce doctor`.
 *
 * What this module promises: nothing unverified is admitted or logged, and nothing of it is read but what
 * an unsigned handshake needs.
 *
 * What it leaves to others: what becomes of the events. The inbox stores them (`receive.ts`); the
 * guard, which has no store, runs them (`guard/`).
 *
 * @module
 */

import { asError, CommitUnknownError } from '../errors.ts'
import type { Acknowledgement } from '../model/acknowledgement.ts'
import type { Delivery } from '../model/delivery.ts'
import type { EventDraft } from '../model/event.ts'
import type { HandshakeAnswer, Source, VerdictReason } from '../model/source.ts'
import type { HappeningEmitter } from '../telemetry/emitter.ts'
import { handshaken, malformed, refused, unavailable, unknownSource } from './acknowledge.ts'
import { answerProbe } from './answer-probe.ts'
import { draftEvents } from './identity.ts'
import { findBreach, keepWithin } from './limits.ts'

export interface AdmitContext {
  readonly sources: ReadonlyMap<string, Source>
  readonly options: { readonly bodyBytesMax: number; readonly eventsMax: number }
  readonly happenings: HappeningEmitter
}

/** A verified delivery, its events not stored yet. */
export interface Admitted {
  readonly source: Source
  readonly drafts: readonly EventDraft[]
  /** The label of the secret that verified it. */
  readonly secret: string
}

/** What is admitted, or what its sender is told instead. */
export type Admission = Admitted | { readonly answer: Acknowledgement }

/** @throws when a source throws: a key could not be had, or a provider has a bug */
export async function admit(
  context: AdmitContext,
  sourceName: string,
  delivery: Delivery,
): Promise<Admission> {
  const source = context.sources.get(sourceName)
  if (source === undefined) return { answer: unknownSource() }

  const breach = findBreach(source, delivery, context.options)
  if (breach !== undefined) return reportBreach(context, sourceName, breach)

  const probed = answerProbe(source, delivery)
  if (probed !== undefined) return greet(context, sourceName, source, probed)

  const greeting = source.handshake && (await source.handshake(delivery, 'unverified'))
  if (greeting !== undefined) return greet(context, sourceName, source, greeting)

  const verifying = source.verify(delivery)
  const verdict = 'ok' in verifying ? verifying : await verifying
  if (!verdict.ok) return refuse(context, sourceName, source, verdict.reason)

  const signedGreeting = source.handshake && (await source.handshake(delivery, 'verified'))
  if (signedGreeting !== undefined) return greet(context, sourceName, source, signedGreeting)

  const events = keepWithin(context.options, source.identify(delivery, verdict, context.options))
  const drafts = draftEvents({ sourceName, source, delivery, verdict }, events)
  return { source, drafts, secret: verdict.secret }
}

function greet(
  context: AdmitContext,
  sourceName: string,
  source: Source,
  greeting: HandshakeAnswer | 'refuse',
): Admission {
  if (greeting === 'refuse') return refuse(context, sourceName, source, 'bad-token')
  context.happenings.emit('delivery.handshake', { source: sourceName, status: greeting.status })
  return { answer: handshaken(greeting) }
}

function refuse(
  { happenings }: AdmitContext,
  sourceName: string,
  { refusal }: Source,
  reason: VerdictReason,
): Admission {
  happenings.emit('delivery.refused', { source: sourceName, reason })
  if (reason === 'key-unavailable') return { answer: unavailable() }
  const isMalformed = reason === 'malformed-timestamp' || reason === 'malformed-header'
  return { answer: isMalformed ? malformed() : refused(refusal) }
}

function reportBreach(
  { happenings }: AdmitContext,
  source: string,
  breach: Acknowledgement,
): Admission {
  happenings.emit('delivery.malformed', { source, reason: breach.outcome })
  return { answer: breach }
}

/** The answer when something went wrong on our side: the sender keeps the event and comes again. */
export function reportUnavailable(
  { happenings }: AdmitContext,
  source: string,
  cause: unknown,
): Acknowledgement {
  const error = asError(cause)
  if (error instanceof CommitUnknownError) happenings.emit('store.commit-unknown', { error })
  happenings.emit('delivery.unavailable', { source, error })
  return unavailable()
}
