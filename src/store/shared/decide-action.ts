import { ACTION_RULES, refusalOf } from '../../model/event-action.ts'
import type { RefusalCode } from '../../model/event-action.ts'
import type { EventState } from '../../model/event-state.ts'
import type { ActionRequest, ReplayTerms } from '../contract/operators.ts'

/** Where an event stands, read in the transaction that decides about it and under its locks. */
export interface Standing {
  readonly state: EventState
  /** The latest. */
  readonly run: number
  /** Why it is parked. */
  readonly parkedReason: string | undefined
  /** Whether a worker may claim it now. */
  readonly isDue: boolean
  /** Whether any run of it has ended as done. */
  readonly isApplied: boolean
  readonly isErased: boolean
  /** Whether it ran in a transaction of the user's: workers cannot run it. */
  readonly isOwn: boolean
}

export type Decision =
  { readonly becomes: EventState } | { readonly becomes: undefined; readonly code: RefusalCode }

/** A replay that asks for nothing else. */
export const AS_IT_CAME: ReplayTerms = Object.freeze({
  freshKeys: false,
  body: undefined,
  onlyIfNotApplied: false,
})

/** What an action makes of an event that stands so; `undefined` for an event that is not here. */
export function decideAction(request: ActionRequest, standing: Standing | undefined): Decision {
  if (standing === undefined) return refuse('EVENT_UNKNOWN')
  const { action, replay } = request
  const { state } = standing
  const becomes = ACTION_RULES[action][state]
  if (becomes === undefined) return refuse(refusalOf(state))
  if (action === 'retry' && state === 'ready' && standing.isDue) return refuse('EVENT_READY')
  if (becomes === 'ready' && standing.isOwn) return refuse('EVENT_NOT_OURS')
  if (action === 'release' && standing.parkedReason === 'too many events')
    return refuse('EVENT_NOT_SPLIT')
  if (replay?.onlyIfNotApplied === true && standing.isApplied) return refuse('EVENT_APPLIED')
  const needsBody = becomes === 'ready' && replay?.body === undefined
  if (needsBody && standing.isErased) return refuse('PAYLOAD_ERASED')
  return { becomes }
}

function refuse(code: RefusalCode): Decision {
  return { becomes: undefined, code }
}
