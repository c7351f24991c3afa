import type {
  EventRecord,
  FailedAttempt,
  Outcome,
  RecordedFailure,
  Settlement,
} from '../../../model/outcome.ts'
import type { EventId } from '../../../model/event.ts'
import type { EventSummary } from '../../../model/event-summary.ts'
import { bytesOf } from '../../../model/stored-body.ts'
import type { ClaimedEvent } from '../../contract/claimed-event.ts'
import type { OutcomeView } from '../../contract/events.ts'
import { cutTextOf } from '../cut-text.ts'
import type { Cipher } from './cipher.ts'
import { places } from './places.ts'
import { attempt, openContent, openHeaders, sealTextOf, showText } from './seal-content.ts'
import { placesOf } from './seal-drafts.ts'

const NOTHING = new Uint8Array()

/** An event as a worker gets it. One that cannot be read says why, and is not in the way of others. */
export function openClaimed<Event extends ClaimedEvent>(cipher: Cipher, event: Event): Event {
  const { eventId, source, headers, isModified } = event
  const where = placesOf(eventId, source)
  const found = attempt(() => {
    const body = bytesOf(event.body)
    if (!isModified) return openContent(cipher, { body, headers }, where)
    return {
      body: cipher.open(body, places.runBody(eventId)),
      headers: openHeaders(cipher, headers, where.headers),
    }
  })
  if ('unreadable' in found)
    return { ...event, body: { bytes: NOTHING }, headers: {}, unreadable: found.unreadable }
  // As it came where it was stored in the clear: text is read without being decoded again.
  if (found.opened.headers === headers && !isModified) return event
  return { ...event, body: { bytes: found.opened.body }, headers: found.opened.headers }
}

/** An event as an operator sees it. */
export function openRecord(cipher: Cipher, record: EventRecord): EventRecord {
  const { id, source, outcome } = record
  const found = attempt(() => openContent(cipher, record, placesOf(id, source)))
  return {
    ...record,
    ...('opened' in found
      ? found.opened
      : ({ body: NOTHING, headers: {}, payload: 'unreadable' } as const)),
    reason: showText(cipher, record.reason, places.outcome(id, 'reason')),
    outcome: outcome && showOutcome(cipher, id, outcome),
    failures: record.failures.map((failure) => openFailure(cipher, id, failure)),
  }
}

/** For people: a result that cannot be read is a text that says so. */
export function showOutcome<Kept extends Outcome>(
  cipher: Cipher,
  id: EventId,
  outcome: Kept,
): Kept {
  return {
    ...outcome,
    reason: showText(cipher, outcome.reason, places.outcome(id, 'reason')),
    result: showJson(cipher, outcome.result, places.outcome(id, 'result')),
  }
}

/** For code. @throws UnreadableError where its result cannot be read */
function openOutcome(cipher: Cipher, id: EventId, outcome: Outcome): Outcome {
  const { result } = outcome
  const opened =
    result === undefined ? result : cipher.openText(result, places.outcome(id, 'result'))
  return { ...showOutcome(cipher, id, outcome), result: opened }
}

/** For a sender that waits for it. @throws UnreadableError */
export function openOutcomeView(
  cipher: Cipher | undefined,
  id: EventId,
  view: OutcomeView | undefined,
): OutcomeView | undefined {
  if (cipher === undefined || view?.outcome === undefined) return view
  return { ...view, outcome: openOutcome(cipher, id, view.outcome) }
}

/** JSON for people. */
export function showJson(
  cipher: Cipher,
  text: string | undefined,
  place: Parameters<Cipher['openText']>[1],
): string | undefined {
  if (text === undefined) return undefined
  const found = attempt(() => cipher.openText(text, place))
  return 'opened' in found ? found.opened : JSON.stringify(`(${found.unreadable.message})`)
}

export function openFailure<Failure extends RecordedFailure>(
  cipher: Cipher,
  id: EventId,
  failure: Failure,
): Failure {
  const { message, stack, cause } = failure
  return {
    ...failure,
    message: showText(cipher, message, places.attempt(id, 'message')),
    ...(stack !== undefined && { stack: showText(cipher, stack, places.attempt(id, 'stack')) }),
    ...(cause !== undefined && { cause: showText(cipher, cause, places.attempt(id, 'cause')) }),
  }
}

/** An event as a list has it. Its texts are cut here, since what is sealed is handed over whole. */
export function openSummary(cipher: Cipher, summary: EventSummary): EventSummary {
  const { id, reason, error } = summary
  return {
    ...summary,
    reason: cutTextOf(showText(cipher, reason, places.outcome(id, 'reason'))),
    error: cutTextOf(showText(cipher, error, places.attempt(id, 'message'))),
  }
}

/** What became of an event, as it is stored. Words of ours that say why are stored in the clear by the engines. */
export function sealSettlement<Given extends Settlement>(cipher: Cipher, given: Given): Given {
  return sealKnown(cipher, given) as Given
}

function sealKnown(cipher: Cipher, settlement: Settlement): Settlement {
  const { eventId } = settlement
  const sealReason = (reason: string) => cipher.sealText(reason, places.outcome(eventId, 'reason'))
  switch (settlement.state) {
    case 'done': {
      const place = places.outcome(eventId, 'result')
      return { ...settlement, result: sealTextOf(cipher, settlement.result, place) }
    }
    case 'skipped':
      return { ...settlement, reason: sealReason(settlement.reason) }
    case 'dead': {
      const failure = sealFailure(cipher, eventId, settlement.failure)
      return { ...settlement, reason: sealReason(settlement.reason), failure }
    }
    case 'ready':
      return { ...settlement, failure: sealFailure(cipher, eventId, settlement.failure) }
    case 'unhandled':
      return settlement
  }
}

function sealFailure(cipher: Cipher, id: EventId, failure: FailedAttempt): FailedAttempt {
  return {
    ...failure,
    message: cipher.sealText(failure.message, places.attempt(id, 'message')),
    stack: sealTextOf(cipher, failure.stack, places.attempt(id, 'stack')),
    cause: sealTextOf(cipher, failure.cause, places.attempt(id, 'cause')),
  }
}
