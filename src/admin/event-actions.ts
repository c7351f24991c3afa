/**
 * What an operator does with an event. What each action makes of which state is a table in
 * `src/model/event-action.ts`; the store decides, in the transaction that makes the change.
 *
 * @module
 */

import type { EventAction } from '../model/event-action.ts'
import type { EventId } from '../model/event.ts'
import type { ActionRequest, ReplayTerms } from '../store/contract/operators.ts'
import { stringifyStepResult } from '../store/contract/step-result.ts'
import type { Happenings } from '../telemetry/happenings.ts'
import type { Act } from './act.ts'
import type { ActionOptions } from './action-options.ts'
import { requireOrder, requireReason, requireReplay } from './action-options.ts'
import type { ActionResult, EventActionResult } from './action-result.ts'
import type { Operator } from './operator.ts'
import { refuse } from './refusals.ts'
import { requireDecision, requireText } from './require-arguments.ts'

export interface EventActionContext {
  readonly act: Act
  /** The keys of the event are gone: what this process remembers of them does not hold. */
  readonly onForgotten: (eventId: EventId) => void
  /** An event may run now. */
  readonly onDue: () => void
  readonly onActed: (acted: Happenings['operator.acted']) => void
}

export function createEventActions(
  context: EventActionContext,
): Pick<Operator, EventAction | 'resolveStep'> {
  return {
    retry: async (eventId, options = {}) => actOnEvent(context, 'retry', eventId, options),
    replay: async (eventId, options) => {
      requireReason('replay', options)
      const { replay, rest } = requireReplay(options)
      return actOnEvent(context, 'replay', eventId, rest, replay)
    },
    release: async (eventId, options) => {
      requireReason('release', options)
      return actOnEvent(context, 'release', eventId, options)
    },
    discard: async (eventId, options) => {
      requireReason('discard', options)
      return actOnEvent(context, 'discard', eventId, options)
    },
    forget: async (eventId, options = {}) => actOnEvent(context, 'forget', eventId, options),
    resolveStep: async (eventId, name, decision, options = {}): Promise<ActionResult> => {
      requireText('resolveStep.eventId', eventId, 'the id of an event')
      requireText('resolveStep.step', name, 'the name of a step')
      const order = requireOrder('resolveStep', options)
      const { happened, result, handler } = requireDecision(decision)
      const written = happened
        ? { happened, result: stringifyStepResult(name, result) }
        : { happened }
      const acted = await context.act((store) =>
        store.steps.resolve({ eventId, handler, name, decision: written }, order),
      )
      if (acted.status === 'refused') return refuse('resolveStep', acted.code)
      const { actor, reason } = order
      context.onActed({
        action: 'resolveStep',
        subject: { kind: 'event', id: eventId },
        actor,
        reason,
      })
      return acted
    },
  }
}

async function actOnEvent(
  { act, onForgotten, onDue, onActed }: EventActionContext,
  action: EventAction,
  eventId: EventId,
  options: ActionOptions,
  replay?: ReplayTerms,
): Promise<EventActionResult> {
  requireText(`${action}.eventId`, eventId, 'the id of an event')
  const order = requireOrder(action, options)
  const request: ActionRequest = { action, eventId, ...order, ...(replay && { replay }) }
  const acted = await act((store) => store.operators.act(request))
  if (acted.status === 'refused') return refuse(action, acted.code)
  if (action === 'forget') onForgotten(eventId)
  if (acted.state === 'ready') onDue()
  const { actor, reason } = order
  onActed({ action, subject: { kind: 'event', id: eventId }, actor, reason })
  return { status: 'done', eventId, run: acted.run, state: acted.state }
}
