import type { EventId } from '../model/event.ts'
import { MEMORY_VALID_MS } from '../store/contract/memory-valid-ms.ts'
import type { ActionRequest } from '../store/contract/operators.ts'
import type { Happenings } from '../telemetry/happenings.ts'
import type { Act } from './act.ts'
import type { EventActionResult } from './action-result.ts'
import { refuse } from './refusals.ts'

export interface EventActionContext {
  readonly act: Act
  /** The keys of the event are gone: what this process remembers of them does not hold. */
  readonly onForgotten: (eventId: EventId) => void
  /** An event may run now. */
  readonly onDue: () => void
  readonly onActed: (acted: Happenings['operator.acted']) => void
}

/** An action on one event, with a request that was checked. */
export async function actOnEvent(
  { act, onForgotten, onDue, onActed }: EventActionContext,
  request: ActionRequest,
): Promise<EventActionResult> {
  const { action, eventId, actor, reason } = request
  const acted = await act((store) => store.operators.act(request))
  if (acted.status === 'refused') return refuse(action, acted.code, acted.about)
  if (acted.state === 'ready') onDue()
  onActed({ action, subject: { kind: 'event', id: eventId }, actor, reason })
  const done = { status: 'done', eventId, run: acted.run, state: acted.state } as const
  if (action !== 'forget') return done
  onForgotten(eventId)
  return { ...done, redeliverFrom: new Date(Date.now() + MEMORY_VALID_MS) }
}
