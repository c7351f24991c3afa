/**
 * From one HTTP delivery to work that ran once, and an answer.
 *
 *     delivery ─▶ admit ─▶ own the content ─▶ claim every event ─▶ run ─▶ mark ─▶ acknowledge
 *                  4xx          503                503              500              200
 *
 * A delivery is admitted as the inbox does it: nothing unverified gets to Redis. A 2xx leaves after the work is done,
 * and after its mark where Redis took it. A delivery whose event another process runs right now is
 * answered 503 and not as a duplicate: if the other one dies, this sender must still have the event.
 *
 * @module
 */

import { StoreUnavailableError } from '../errors.ts'
import type { Acknowledgement } from '../model/acknowledgement.ts'
import type { Delivery } from '../model/delivery.ts'
import { digestBytes } from '../model/digest.ts'
import type { Digest } from '../model/digest.ts'
import type { EventDraft, WebhookEvent } from '../model/event.ts'
import type { QuarantineReason } from '../model/quarantine-reason.ts'
import type { Source, SuccessAnswer } from '../model/source.ts'
import { failed, processed, stored, unavailable } from '../receive/acknowledge.ts'
import { admit, reportUnavailable } from '../receive/admit.ts'
import type { AdmitContext, Admitted } from '../receive/admit.ts'
import type { SecretTally } from '../receive/secret-tally.ts'
import { createEnvelope } from '../model/envelope.ts'
import type { ContentOwner } from './entries.ts'
import { redisKeyOf } from './entry.ts'
import type { Entry } from './entry.ts'
import { runOnce } from './run-once.ts'
import type { OnceContext, OnceOutcome, RunOnceContext } from './run-once.ts'

export interface ReceiveGuardedContext extends RunOnceContext {
  readonly admit: AdmitContext
  readonly secrets: SecretTally
}

/** One event of a delivery, with its entry. */
export interface Arrived {
  readonly entry: Entry
  readonly event: WebhookEvent
}

/** What runs for the events of one delivery, and says what the sender is told. */
export type Answer = (
  source: SuccessAnswer,
  arrived: readonly Arrived[],
) => Promise<Acknowledgement>

/** Never rejects. */
export async function receiveGuarded(
  context: ReceiveGuardedContext,
  sourceName: string,
  delivery: Delivery,
  answer: Answer,
): Promise<Acknowledgement> {
  try {
    const admission = await admit(context.admit, sourceName, delivery)
    if ('answer' in admission) return admission.answer
    context.secrets.count(sourceName, admission.secret, delivery.receivedAt)

    const arrived = await openAll(context, admission)
    if ('status' in arrived) return arrived
    return await answer(admission.source.success, arrived)
  } catch (error) {
    return reportUnavailable(context.admit, sourceName, error)
  }
}

/** Runs a handler for each event on its own, as an inbox would; those that were done are left alone. */
export function answerByHandler(
  context: RunOnceContext,
  handler: (event: WebhookEvent, context: OnceContext) => unknown,
): Answer {
  return async (success, arrived) => {
    const outcomes: (OnceOutcome<unknown> | { readonly status: 'failed' })[] = []
    for (const { entry, event } of arrived) {
      outcomes.push(await runHandler(context, entry, (work) => handler(event, work)))
    }
    return acknowledge(success, arrived, outcomes)
  }
}

async function runHandler(
  context: RunOnceContext,
  entry: Entry,
  handler: (work: OnceContext) => unknown,
): Promise<OnceOutcome<unknown> | { readonly status: 'failed' }> {
  let hasFailed = false
  try {
    return await runOnce(context, entry, async (work) => {
      try {
        return await handler(work)
      } catch (error) {
        hasFailed = true
        throw error
      }
    })
  } catch (error) {
    // What the handler threw is reported. Anything else is Redis, and answered as that.
    if (hasFailed) return { status: 'failed' }
    throw error
  }
}

function acknowledge(
  success: SuccessAnswer,
  arrived: readonly Arrived[],
  outcomes: readonly (OnceOutcome<unknown> | { readonly status: 'failed' })[],
): Acknowledgement {
  const [first] = outcomes
  const eventId = arrived[0]?.event.id ?? ''
  // The whole delivery is sent again; what is done by then is left alone.
  const failure = outcomes.findIndex(({ status }) => status === 'failed')
  if (failure >= 0) return failed(arrived[failure]?.event.id ?? '')
  const busy = outcomes.find((outcome) => outcome.status === 'busy')
  if (busy !== undefined) return comeAgain(busy.retryInMs)
  const outcome = outcomes.every(({ status }) => status === 'duplicate') ? 'duplicate' : 'accepted'
  if (first === undefined) return stored(success, { outcome: 'accepted', eventId: '' })
  if (outcomes.length > 1 || !('result' in first)) return stored(success, { outcome, eventId })
  const result = writeJson(first.result)
  return processed(success, { outcome, eventId, state: 'done', result })
}

export function comeAgain(retryInMs: number): Acknowledgement {
  return unavailable(Math.max(1, Math.ceil(retryInMs / 1_000)))
}

function writeJson(result: unknown): string | undefined {
  try {
    return JSON.stringify(result)
  } catch {
    return undefined
  }
}

/** The events of a delivery, or the answer where none of them may run. */
async function openAll(
  context: ReceiveGuardedContext,
  { source, drafts }: Admitted,
): Promise<readonly Arrived[] | Acknowledgement> {
  const parked = drafts.find(({ quarantine }) => quarantine !== undefined)
  if (parked?.quarantine !== undefined) {
    if (await areDone(context, drafts)) return duplicateOf(source, drafts)
    return refuse(context, parked, parked.quarantine)
  }
  const arrived: Arrived[] = []
  for (const draft of drafts) {
    const owner = await findOwner(context, draft)
    if (owner === undefined) {
      arrived.push(await open(context.options.prefix, draft, hexOf(draft.keyHash)))
    } else if (owner.fingerprint !== fingerprintOf(draft)) {
      // The sender has signed the delivery, and its signature stands beside other content now.
      context.happenings.emit('guard.conflict', { source: draft.source, key: draft.key ?? '' })
      return stored(source.success, { outcome: 'conflict', eventId: hexOf(draft.keyHash) })
    } else if (draft.sameBytes === 'duplicate') {
      arrived.push(await open(context.options.prefix, draft, owner.keyHash))
    } else {
      return refuse(context, draft, 'same bytes under another key')
    }
  }
  return arrived
}

/**
 * What an inbox would keep for a person, a guard has no place for. Refused with all that came with it, so
 * that the sender still has it: with a key that is configured by then, or a fresh signature, it runs.
 */
function refuse(
  { happenings }: ReceiveGuardedContext,
  { source, type }: EventDraft,
  reason: QuarantineReason,
): Acknowledgement {
  happenings.emit('guard.refused', { source, type, reason })
  return unavailable()
}

/** Whether a delivery that came too late carries what is done: its sender has not heard of that. */
async function areDone(
  { entries, options }: ReceiveGuardedContext,
  drafts: readonly EventDraft[],
): Promise<boolean> {
  for (const draft of drafts) {
    if (draft.quarantine !== 'outside the time window') return false
    const redisKey = redisKeyOf(options.prefix, draft.source, hexOf(draft.keyHash))
    const found = await entries.read(redisKey)
    const isDone = found !== 'absent' && found.status === 'done'
    if (!isDone || found.fingerprint !== fingerprintOf(draft)) return false
  }
  return true
}

function duplicateOf({ success }: Source, [first]: readonly EventDraft[]): Acknowledgement {
  const eventId = first === undefined ? '' : hexOf(first.keyHash)
  return stored(success, { outcome: 'duplicate', eventId })
}

/** Which other event has this one's content, where the source watches for that. */
async function findOwner(
  { entries, options }: ReceiveGuardedContext,
  draft: EventDraft,
): Promise<ContentOwner | undefined> {
  if (draft.contentHash === undefined) return undefined
  const redisKey = redisKeyOf(options.prefix, draft.source, hexOf(draft.contentHash))
  const owner = { keyHash: hexOf(draft.keyHash), fingerprint: fingerprintOf(draft) }
  try {
    const found = await entries.ownContent(redisKey, owner)
    return found === 'owned' ? undefined : found
  } catch (error) {
    if (error instanceof StoreUnavailableError && options.whenUnavailable === 'run')
      return undefined
    throw error
  }
}

/** `keyHash` is the event's own, or that of the event which it turned out to be. */
async function open(prefix: string, draft: EventDraft, keyHash: string): Promise<Arrived> {
  const { source, type, headers, receivedAt, occurredAt, verifiedBy } = draft
  const body = { bytes: draft.body }
  const key = draft.key ?? ''
  const content = {
    eventId: keyHash,
    source,
    key,
    type,
    body,
    headers,
    receivedAt,
    occurredAt,
    verifiedBy,
  }
  return {
    event: await createEnvelope(content, undefined),
    entry: {
      source,
      key,
      keyHash,
      redisKey: redisKeyOf(prefix, source, keyHash),
      fingerprint: fingerprintOf(draft),
    },
  }
}

function hexOf(digest: Digest): string {
  return digestBytes(digest).toString('hex')
}

function fingerprintOf({ fingerprint }: EventDraft): string {
  return digestBytes(fingerprint).toString('base64url')
}
