import { ACTION_RULES, refusalOf } from '../../model/event-action.ts'
import type { RefusalCode } from '../../model/event-action.ts'
import type { EventState } from '../../model/event-state.ts'
import { isStale as isOlder } from '../../ordering/is-stale.ts'
import type {
  Acted,
  ActionRequest,
  LaneVersions,
  RefusalAbout,
  ReplayTerms,
} from '../contract/operators.ts'

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
  /** When its bytes were erased, if they were. */
  readonly erasedAt: Date | undefined
  /** Whether its payload is past its retention: how it ended is left, and maybe a result and messages. */
  readonly isPruned: boolean
  /** What it was in a lane that goes by versions, and what has been applied there, as far as both are known. */
  readonly versions: LaneVersions | undefined
  /** Whether it ran in a transaction of the user's: workers cannot run it. */
  readonly isOwn: boolean
}

export type Decision =
  { readonly becomes: EventState } | ({ readonly becomes: undefined } & Refusal)

/** Why it is refused, and what there is to tell about it. */
export type Refusal = Pick<Extract<Acted, { status: 'refused' }>, 'code' | 'about'>

/** A replay that asks for nothing else. */
export const AS_IT_CAME: ReplayTerms = Object.freeze({
  freshKeys: false,
  body: undefined,
  onlyIfNotApplied: false,
})

/** Of an event's outcomes, latest first, the one that says where it stood. */
export function findVersions(
  outcomes: readonly {
    readonly place: string | null
    readonly applied: string | null
    readonly applied_by: string | null
  }[],
): LaneVersions | undefined {
  for (const { place, applied, applied_by: appliedBy } of outcomes) {
    if (place === null) continue
    return applied === null || appliedBy === null
      ? undefined
      : { version: place, applied, appliedBy }
  }
  return undefined
}

/** What is told of an action that was not done. */
export function refusalIn(decision: Decision): Extract<Acted, { status: 'refused' }> {
  if (decision.becomes !== undefined) return { status: 'refused', code: 'EVENT_UNKNOWN' }
  const { becomes: _, ...refusal } = decision
  return { status: 'refused', ...refusal }
}

/** What an action makes of an event that stands so; `undefined` for an event that is not here. */
export function decideAction(request: ActionRequest, standing: Standing | undefined): Decision {
  if (standing === undefined) return refuse('EVENT_UNKNOWN')
  const { action, replay } = request
  const { state } = standing
  // What is left of the event may still have bytes of a person who wants them gone.
  if (standing.isPruned && action !== 'erase') return refuse('PAYLOAD_PRUNED')
  const becomes = ACTION_RULES[action][state]
  if (becomes === undefined) return refuse(refusalOf(state))
  if (action === 'retry' && state === 'ready' && standing.isDue) return refuse('EVENT_READY')
  if (becomes === 'ready' && standing.isOwn) return refuse('EVENT_NOT_OURS')
  if (action === 'release' && standing.parkedReason === 'too many events')
    return refuse('EVENT_NOT_SPLIT')
  if (replay?.onlyIfNotApplied === true && standing.isApplied) return refuse('EVENT_APPLIED')
  const asItCame = becomes === 'ready' && replay?.body === undefined
  const { erasedAt, versions } = standing
  if (asItCame && erasedAt !== undefined) return refuse('PAYLOAD_ERASED', { erasedAt })
  // With another body it may have another version: that is seen when it runs.
  if (action === 'replay' && asItCame && versions !== undefined && isStale(versions))
    return refuse('EVENT_STALE', { versions })
  return { becomes }
}

function isStale({ version, applied }: LaneVersions): boolean {
  return isOlder(version, applied)
}

function refuse(code: RefusalCode, about?: RefusalAbout): Decision {
  return { becomes: undefined, code, ...(about !== undefined && { about }) }
}
