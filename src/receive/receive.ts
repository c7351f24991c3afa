/**
 * The receive path: from one HTTP delivery to durable events and an answer.
 *
 *     delivery ─▶ find source ─▶ limits ─▶ verify ─▶ identify ─▶ record ─▶ acknowledge
 *                     404      405/413/415   401/400                503         200
 *                                 400
 *
 * A sender that only checks the endpoint is answered before or after `verify`, as its handshake asks,
 * and leaves nothing behind.
 *
 * What this module promises:
 *
 * - A 2xx leaves only after the event is committed. If we crash before that, the sender still holds
 *   the event and will send it again.
 * - One event is stored once, however many times it is delivered and however many processes receive
 *   it at once. The store's unique key decides, not this process.
 * - Nothing unverified runs a statement or is logged, and nothing of it is read but what an unsigned
 *   handshake needs.
 * - The body is kept as the bytes that arrived.
 *
 * What it leaves to others: reading the request (`http/`), signature schemes (`verify/`,
 * `providers/`), and running handlers (`work/run-group.ts`).
 *
 * @module
 */

import { asError, CommitUnknownError, StoreUnavailableError } from '../errors.ts'
import type { Acknowledgement } from '../model/acknowledgement.ts'
import type { Delivery } from '../model/delivery.ts'
import type { EventDraft } from '../model/event.ts'
import type { HandshakeAnswer, Source, VerdictReason } from '../model/source.ts'
import type { HappeningEmitter } from '../telemetry/emitter.ts'
import {
  handshaken,
  malformed,
  refused,
  stored,
  unavailable,
  unknownSource,
} from './acknowledge.ts'
import type { OutcomeWaiter } from './await-outcome.ts'
import type { Batcher, RecordedDraft } from './batcher.ts'
import type { CommittedKeys } from './committed-keys.ts'
import type { DeliveryCounter } from './delivery-counter.ts'
import { draftEvent } from './identity.ts'
import { findBreach } from './limits.ts'
import type { ResolvedReceiveOptions } from './options.ts'

export interface ReceiveContext {
  readonly sources: ReadonlyMap<string, Source>
  readonly options: ResolvedReceiveOptions
  readonly batcher: Batcher
  readonly committedKeys: CommittedKeys
  readonly counter: DeliveryCounter
  readonly outcomes: OutcomeWaiter
  readonly happenings: HappeningEmitter
  /** Told after new events were committed, so that a worker can start at once. */
  readonly onStored: () => void
}

export async function receive(
  context: ReceiveContext,
  sourceName: string,
  delivery: Delivery,
): Promise<Acknowledgement> {
  const source = context.sources.get(sourceName)
  if (source === undefined) return unknownSource()
  try {
    const breach = findBreach(source, delivery, context.options)
    if (breach !== undefined) return reportBreach(context, sourceName, breach)

    const greeting = await source.handshake?.(delivery, 'unverified')
    if (greeting !== undefined) return greet(context, sourceName, source, greeting)

    const verdict = await source.verify(delivery)
    if (!verdict.ok) return refuse(context, sourceName, source, verdict.reason)

    const signedGreeting = await source.handshake?.(delivery, 'verified')
    if (signedGreeting !== undefined) return greet(context, sourceName, source, signedGreeting)

    const drafts = source
      .identify(delivery)
      .map((event) => draftEvent({ sourceName, source, delivery, secret: verdict.secret }, event))

    const recorded = await record(context, drafts)
    return await acknowledge(context, source, drafts, recorded)
  } catch (error) {
    return reportUnavailable(context, sourceName, error)
  }
}

/** From memory where it is certain, else from the store, and never later than the deadline. */
async function record(
  context: ReceiveContext,
  drafts: readonly EventDraft[],
): Promise<readonly RecordedDraft[]> {
  const remembered = findRemembered(context, drafts)
  if (remembered !== undefined) return remembered

  const { epoch } = context.committedKeys
  const recorded = await withinDeadline(
    context.batcher.record(drafts),
    context.options.answerTimeoutMs,
  )
  recorded.forEach(({ status, eventId, shared }, index) => {
    const draft = drafts[index] as EventDraft
    report(context, draft, recorded[index] as RecordedDraft, shared ? 'flight' : 'store')
    if (!shared && (status === 'accepted' || status === 'duplicate')) {
      context.committedKeys.remember(draft, eventId, epoch)
    }
  })
  if (recorded.some(({ status }) => status === 'accepted' || status === 'revived'))
    context.onStored()
  return recorded
}

function findRemembered(
  context: ReceiveContext,
  drafts: readonly EventDraft[],
): readonly RecordedDraft[] | undefined {
  const found: RecordedDraft[] = []
  for (const draft of drafts) {
    const eventId = context.committedKeys.find(draft)
    if (eventId === undefined) return undefined
    found.push({ status: 'duplicate', eventId, shared: true })
  }
  found.forEach((recorded, index) =>
    report(context, drafts[index] as EventDraft, recorded, 'memory'),
  )
  return found
}

async function acknowledge(
  context: ReceiveContext,
  source: Source,
  drafts: readonly EventDraft[],
  recorded: readonly RecordedDraft[],
): Promise<Acknowledgement> {
  const first = recorded[0]
  // A verified request may carry no event at all: an empty batch is a success that leaves nothing.
  if (first === undefined || drafts.length === 0)
    return stored(source.success, { outcome: 'accepted', eventId: '' })
  const outcome = first.status === 'revived' ? 'duplicate' : first.status
  const willRun =
    first.status === 'accepted' || first.status === 'duplicate' || first.status === 'revived'
  if (source.acknowledge === 'processed' && recorded.length === 1 && willRun) {
    return context.outcomes.answer(source.success, first)
  }
  return stored(source.success, { outcome, eventId: first.eventId })
}

function report(
  { happenings, counter }: ReceiveContext,
  draft: EventDraft,
  recorded: RecordedDraft,
  from: 'memory' | 'flight' | 'store',
): void {
  const about = {
    source: draft.source,
    eventId: recorded.eventId,
    key: draft.key,
    type: draft.type,
  }
  // A delivery that was accepted is its event's own row; counting it would be one more row for every event.
  if (recorded.status !== 'accepted') {
    counter.count(recorded.eventId, recorded.status === 'revived' ? 'duplicate' : recorded.status)
  }
  switch (recorded.status) {
    case 'accepted':
      return happenings.emit('delivery.accepted', about)
    case 'duplicate':
      return happenings.emit('delivery.duplicate', { ...about, from })
    case 'revived':
      return happenings.emit('delivery.revived', about)
    case 'conflict':
      return happenings.emit('delivery.conflict', about)
    case 'quarantined':
      return happenings.emit('delivery.quarantined', { ...about, reason: recorded.reason ?? '' })
  }
}

function greet(
  context: ReceiveContext,
  sourceName: string,
  source: Source,
  greeting: HandshakeAnswer | 'refuse',
): Acknowledgement {
  if (greeting === 'refuse') return refuse(context, sourceName, source, 'bad-token')
  context.happenings.emit('delivery.handshake', { source: sourceName, status: greeting.status })
  return handshaken(greeting)
}

function refuse(
  { happenings }: ReceiveContext,
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
  { happenings }: ReceiveContext,
  source: string,
  breach: Acknowledgement,
): Acknowledgement {
  happenings.emit('delivery.malformed', { source, reason: breach.outcome })
  return breach
}

function reportUnavailable(
  { happenings }: ReceiveContext,
  source: string,
  cause: unknown,
): Acknowledgement {
  const error = asError(cause)
  if (error instanceof CommitUnknownError) happenings.emit('store.commit-unknown', { error })
  happenings.emit('delivery.unavailable', { source, error })
  return unavailable()
}

/** The sender's patience is the limit, whatever the database does. What is on its way may still arrive. */
function withinDeadline<T>(work: Promise<T>, deadlineMs: number): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(
      () => reject(new StoreUnavailableError(`The store did not answer within ${deadlineMs} ms`)),
      deadlineMs,
    )
    work.then(
      (value) => {
        clearTimeout(timer)
        resolve(value)
      },
      (error: unknown) => {
        clearTimeout(timer)
        reject(
          error instanceof Error
            ? error
            : new StoreUnavailableError('The store failed', { cause: error }),
        )
      },
    )
  })
}
