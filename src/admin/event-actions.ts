/**
 * What an operator does with an event. What each action makes of which state is a table in
 * `src/model/event-action.ts`; the store decides, in the transaction that makes the change.
 *
 * @module
 */

import type { EventAction } from '../model/event-action.ts'
import type { EventId } from '../model/event.ts'
import type { ActionRequest } from '../store/contract/operators.ts'
import { stringifyStepResult } from '../store/contract/step-result.ts'
import { actOnEvent } from './act-on-event.ts'
import type { EventActionContext } from './act-on-event.ts'
import type { ActionOptions } from './action-options.ts'
import { requireOrder, requireReason, requireReplay } from './action-options.ts'
import type { ActionResult } from './action-result.ts'
import type { Operator } from './operator.ts'
import { refuse } from './refusals.ts'
import { requireDecision, requireId, requireText } from './require-arguments.ts'

export function createEventActions(
  context: EventActionContext,
): Pick<Operator, EventAction | 'resolveStep'> {
  return {
    retry: async (eventId, options = {}) =>
      actOnEvent(context, requireRequest('retry', eventId, options)),
    replay: async (eventId, options) => {
      requireReason('replay', options)
      const { replay, rest } = requireReplay(options)
      return actOnEvent(context, { ...requireRequest('replay', eventId, rest), replay })
    },
    release: async (eventId, options) => {
      requireReason('release', options)
      return actOnEvent(context, requireRequest('release', eventId, options))
    },
    discard: async (eventId, options) => {
      requireReason('discard', options)
      return actOnEvent(context, requireRequest('discard', eventId, options))
    },
    forget: async (eventId, options = {}) =>
      actOnEvent(context, requireRequest('forget', eventId, options)),
    erase: async (eventId, options) => {
      requireReason('erase', options)
      return actOnEvent(context, requireRequest('erase', eventId, options))
    },
    resolveStep: async (given, name, decision, options = {}): Promise<ActionResult> => {
      const eventId = requireId('resolveStep.eventId', given, 'an event')
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

function requireRequest(
  action: EventAction,
  given: EventId,
  options: ActionOptions,
): ActionRequest {
  const eventId = requireId(`${action}.eventId`, given, 'an event')
  return { action, eventId, ...requireOrder(action, options) }
}
