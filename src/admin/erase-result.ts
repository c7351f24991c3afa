import type { EventId } from '../model/event.ts'
import type { EraseOutcome } from '../store/contract/retention.ts'

/** Why nothing was erased. */
export type EraseRefusalCode =
  | 'EVENT_UNKNOWN'
  | 'EVENT_READY'
  | 'EVENT_RUNNING'
  | 'EVENT_WAITING'
  | 'EVENT_UNHANDLED'
  | 'EVENT_CONFLICT'
  | 'EVENT_QUARANTINED'
  | 'MESSAGE_UNSENT'

/** What became of `erase`. */
export type EraseResult =
  | { readonly status: 'done'; readonly eventId: EventId }
  | {
      readonly status: 'refused'
      readonly code: EraseRefusalCode
      readonly reason: string
      readonly instead: string
    }

/** Why, and what to do instead. */
export function refuseErase(outcome: Exclude<EraseOutcome, { status: 'erased' }>): EraseResult {
  if (outcome.status === 'missing')
    return {
      status: 'refused',
      code: 'EVENT_UNKNOWN',
      reason: 'There is no such event, or its payload was pruned',
      instead: 'Nothing: there are no bytes to erase',
    }
  if (outcome.status === 'unsent')
    return {
      status: 'refused',
      code: 'MESSAGE_UNSENT',
      reason: `Its message ${outcome.messageId} is not sent yet, or may have been`,
      instead: 'Let it be sent, or discard it with discardMessage(id), then erase the event',
    }
  const { state } = outcome
  return {
    status: 'refused',
    code: `EVENT_${state.toUpperCase()}` as EraseRefusalCode,
    reason: `The event is ${state} and can still run, for which it needs its bytes`,
    instead: state === 'running' ? 'Wait until it has ended' : 'Discard it first, then erase it',
  }
}
