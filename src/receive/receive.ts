/**
 * The receive path: from one HTTP delivery to durable events and an answer.
 *
 *     delivery ─▶ admit ─▶ record ─▶ acknowledge
 *                  4xx       503         200
 *
 * What this module promises:
 *
 * - A 2xx leaves only after the event is committed. If we crash before that, the sender still holds
 *   the event and will send it again.
 * - One event is stored once, however many times it is delivered and however many processes receive
 *   it at once. The store's unique key decides, not this process.
 * - Nothing unverified is stored: `admit.ts` verifies, or answers.
 * - The body is kept as the bytes that arrived.
 *
 * What it leaves to others: reading the request (`http/`), signature schemes (`verify/`,
 * `providers/`), and running handlers (`work/group/run-group.ts`).
 *
 * @module
 */

import type { Acknowledgement } from '../model/acknowledgement.ts'
import type { Delivery } from '../model/delivery.ts'
import type { EventDraft } from '../model/event.ts'
import type { Source } from '../model/source.ts'
import { stored } from './acknowledge.ts'
import type { OutcomeWaiter } from './await-outcome.ts'
import type { Batcher, RecordedDraft } from './batcher.ts'
import type { CommittedKeys } from './committed-keys.ts'
import type { DeliveryCounter } from './delivery-counter.ts'
import { admit, reportUnavailable } from './admit.ts'
import type { AdmitContext } from './admit.ts'
import { keepTrace } from './keep-trace.ts'
import type { ResolvedReceiveOptions } from './options.ts'
import type { SecretCounter } from './secret-counter.ts'

export interface ReceiveContext extends AdmitContext {
  readonly options: ResolvedReceiveOptions
  readonly batcher: Batcher
  readonly committedKeys: CommittedKeys
  readonly counter: DeliveryCounter
  readonly secrets: SecretCounter
  readonly outcomes: OutcomeWaiter
  /** Called after new events were committed, so that a worker can start at once. */
  readonly onStored: (drafts: readonly EventDraft[]) => void
}

/** Never rejects. */
export async function receive(
  context: ReceiveContext,
  sourceName: string,
  delivery: Delivery,
  traceparent?: string,
): Promise<Acknowledgement> {
  try {
    const admission = await admit(context, sourceName, delivery)
    if ('answer' in admission) return admission.answer
    const { source, secret } = admission
    context.secrets.count(sourceName, secret, delivery.receivedAt)
    const { committedKeys } = context
    const timely = committedKeys.quarantineStale(admission.drafts)
    const drafts = traceparent === undefined ? timely : keepTrace(timely, traceparent)

    const remembered = findRemembered(context, drafts)
    if (remembered !== undefined) return await acknowledge(context, source, remembered)

    const { epoch } = committedKeys
    const recorded = await context.batcher.record(drafts)
    notice(context, drafts, recorded, epoch)
    return await acknowledge(context, source, recorded)
  } catch (error) {
    return reportUnavailable(context, sourceName, error)
  }
}

/** Tells listeners what was recorded, and remembers the keys that are stored from now on. */
export function notice(
  context: ReceiveContext,
  drafts: readonly EventDraft[],
  recorded: readonly RecordedDraft[],
  epoch: string | undefined,
): void {
  const toRun: EventDraft[] = []
  for (const [index, one] of recorded.entries()) {
    const draft = drafts[index] as EventDraft
    const { status, eventId, shared } = one
    report(context, draft, one, shared ? 'flight' : 'store')
    // A quarantined event does not have its key: the same event, signed within the window, may still take it.
    const hasKey = draft.quarantine === undefined
    if (!shared && hasKey && (status === 'accepted' || status === 'duplicate'))
      context.committedKeys.remember(draft, eventId, epoch)
    if (status === 'accepted' || status === 'revived') toRun.push(draft)
  }
  if (toRun.length > 0) context.onStored(toRun)
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

function acknowledge(
  context: ReceiveContext,
  source: Source,
  recorded: readonly RecordedDraft[],
): Acknowledgement | Promise<Acknowledgement> {
  const first = recorded[0]
  // A verified request may carry no event at all: an empty batch is a success that leaves nothing.
  if (first === undefined) return stored(source.success, { outcome: 'accepted', eventId: '' })
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
  const { source, key, type } = draft
  const { eventId } = recorded
  // A delivery that was accepted is its event's own row; counting it would be one more row for every event.
  if (recorded.status !== 'accepted') {
    counter.count(eventId, recorded.status === 'revived' ? 'duplicate' : recorded.status)
  }
  switch (recorded.status) {
    case 'accepted':
      return happenings.emit('delivery.accepted', { source, eventId, key, type })
    case 'duplicate':
      return happenings.emit('delivery.duplicate', { source, eventId, key, type, from })
    case 'revived':
      return happenings.emit('delivery.revived', { source, eventId, key, type })
    case 'conflict':
      return happenings.emit('delivery.conflict', { source, eventId, key, type })
    case 'quarantined':
      return happenings.emit('delivery.quarantined', {
        source,
        eventId,
        key,
        type,
        reason: recorded.reason ?? '',
      })
  }
}
