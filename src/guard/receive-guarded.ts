/**
 * From one HTTP delivery to work that ran once, and an answer.
 *
 *     delivery ─▶ door ─▶ claim every event ─▶ run ─▶ mark ─▶ acknowledge
 *                  4xx       503                500              200
 *
 * The door is the inbox's own: nothing unverified gets to Redis. A 2xx leaves after the work is done,
 * and after its mark where Redis took it. A delivery whose event somebody else runs right now is
 * answered 503 and not as a duplicate: if the other one dies, this sender must still have the event.
 *
 * @module
 */

import type { Acknowledgement } from '../model/acknowledgement.ts'
import type { Delivery } from '../model/delivery.ts'
import { digestBytes } from '../model/digest.ts'
import type { EventDraft, WebhookEvent } from '../model/event.ts'
import type { SuccessAnswer } from '../model/source.ts'
import { failed, processed, stored, unavailable } from '../receive/acknowledge.ts'
import { passDoor } from '../receive/door.ts'
import type { Admitted, DoorContext } from '../receive/door.ts'
import { draftEvents } from '../receive/identity.ts'
import { createEnvelope } from '../work/envelope.ts'
import { redisKeyOf } from './entry.ts'
import type { Entry } from './entry.ts'
import { runOnce } from './run-once.ts'
import type { OnceContext, OnceOutcome, RunOnceContext } from './run-once.ts'

export interface ReceiveGuardedContext extends RunOnceContext {
  readonly door: DoorContext
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
export function receiveGuarded(
  context: ReceiveGuardedContext,
  sourceName: string,
  delivery: Delivery,
  answer: Answer,
): Promise<Acknowledgement> {
  return passDoor(context.door, sourceName, delivery, async (admitted) => {
    const arrived = await openAll(context, sourceName, delivery, admitted)
    if (arrived === 'keyless') return unavailable()
    return answer(admitted.source.success, arrived)
  })
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
    // What the handler threw is reported. Anything else is Redis, and the door's to answer.
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

/**
 * A verified event without a key cannot be run once, and there is no place to keep it for a person, as
 * an inbox would. Refused with all that came with it, so that the sender still has it when the key is
 * configured. The same for a delivery with more events than it may have.
 */
async function openAll(
  { happenings, options }: ReceiveGuardedContext,
  sourceName: string,
  delivery: Delivery,
  { source, events, verdict }: Admitted,
): Promise<readonly Arrived[] | 'keyless'> {
  const drafts = draftEvents({ sourceName, source, delivery, verdict }, events)
  const keyless = drafts.find(({ quarantine }) => quarantine !== undefined)
  if (keyless?.quarantine !== undefined) {
    const { type, quarantine: reason } = keyless
    happenings.emit('guard.keyless', { source: sourceName, type, reason })
    return 'keyless'
  }
  return Promise.all(drafts.map((draft) => open(options.prefix, draft)))
}

async function open(prefix: string, draft: EventDraft): Promise<Arrived> {
  const { source, type, headers, receivedAt, occurredAt } = draft
  const body = { bytes: draft.body }
  const key = draft.key ?? ''
  const keyHash = digestBytes(draft.keyHash).toString('hex')
  const content = { eventId: keyHash, source, key, type, body, headers, receivedAt, occurredAt }
  return {
    event: await createEnvelope(content, undefined),
    entry: {
      source,
      key,
      keyHash,
      redisKey: redisKeyOf(prefix, source, keyHash),
      fingerprint: digestBytes(draft.fingerprint).toString('base64url'),
    },
  }
}
