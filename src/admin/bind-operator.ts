/**
 * Puts an operator together, on a store that it opens when it is first needed. Every action goes through the store's
 * contract, never around it.
 *
 * @module
 */

import type { MessageId } from '../model/message.ts'
import type { MessageAction } from '../store/contract/messages.ts'
import type { Store } from '../store/contract/store.ts'
import type { Act } from './act.ts'
import { requireOrder } from './action-options.ts'
import type { ActionOptions } from './action-options.ts'
import type { ActionResult } from './action-result.ts'
import { createBulkOperator } from './bulk-operator.ts'
import type { BulkRunner } from './bulk-runner.ts'
import { createEventActions } from './event-actions.ts'
import { createEventFinder } from './event-finder.ts'
import { listMessages } from './list-messages.ts'
import { resolveMessageQuery } from './message-query.ts'
import type { Operator } from './operator.ts'
import { createPauses } from './pauses.ts'
import type { PauseContext } from './pauses.ts'
import { createRetentionOperator } from './retention-operator.ts'
import type { RetentionOperatorContext } from './retention-operator.ts'
import { refuse } from './refusals.ts'
import {
  requireAuditQuery,
  requireId,
  requirePageAbove,
  requirePageBelow,
  requireRunsPage,
  requireSecretsQuery,
  requireText,
} from './require-arguments.ts'

export interface OperatorContext extends Omit<RetentionOperatorContext & PauseContext, 'act'> {
  readonly store: Store<unknown>
  readonly open: () => Promise<void>
  /** There may be something to send. */
  readonly onSendable: () => void
  /** Writes what this process has counted and not written yet. Left out where it receives nothing. */
  readonly writeSecretUses?: () => Promise<void>
  /** Runs bulks for as long as the process has the store. */
  readonly bulkRunner: BulkRunner
}

export function bindOperator(context: OperatorContext): Operator {
  const { store, open, bulkRunner } = context
  const act: Act = async (action) => {
    await open()
    return action(store)
  }
  const parts = { ...context, act }
  return {
    ...createEventQueries(act),
    ...createEventFinder(act),
    bulk: createBulkOperator(act, bulkRunner, context.onActed),
    ...createRetentionOperator(parts),
    ...createEventActions(parts),
    ...createMessageOperator(parts),
    ...createPauses(parts),
    listSecrets: async (query = {}) => {
      const source = requireSecretsQuery(query)
      await open()
      await context.writeSecretUses?.()
      return act(({ operators }) => operators.listSecretUses(source))
    },
  }
}

type EventQueries =
  | 'findEvent'
  | 'findRequest'
  | 'listEventsByKey'
  | 'countEvents'
  | 'listDead'
  | 'listSteps'
  | 'listRuns'
  | 'listAudit'

type MessageActions = 'findMessage' | 'listMessages' | MessageAction

function createEventQueries(act: Act): Pick<Operator, EventQueries> {
  return {
    findEvent: async (given) => {
      const eventId = requireId('findEvent.eventId', given, 'an event')
      return act((store) => store.operators.findEvent(eventId))
    },
    findRequest: async (given) => {
      const eventId = requireId('findRequest.eventId', given, 'an event')
      return act((store) => store.operators.findRequest(eventId))
    },
    listEventsByKey: async (source, key, query = {}) => {
      requireText('listEventsByKey.source', source, 'the name of a source')
      requireText('listEventsByKey.key', key, "the sender's key of an event")
      const page = requirePageAbove('listEventsByKey', query)
      return act((store) => store.operators.listEventsByKey(source, key, page))
    },
    countEvents: async (source) => {
      if (source !== undefined)
        requireText('countEvents.source', source, 'the name of a source, or left out')
      return act((store) => store.operators.countEvents(source))
    },
    listDead: async (query = {}) => {
      const page = requirePageBelow('listDead', query)
      return act((store) => store.operators.listDead(page))
    },
    listSteps: async (given) => {
      const eventId = requireId('listSteps.eventId', given, 'an event')
      return act((store) => store.steps.list(eventId))
    },
    listRuns: async (given, query = {}) => {
      const eventId = requireId('listRuns.eventId', given, 'an event')
      const page = requireRunsPage(query)
      return act((store) => store.operators.listRuns(eventId, page))
    },
    listAudit: async (query = {}) => {
      const resolved = requireAuditQuery(query)
      return act((store) => store.operators.listAudit(resolved))
    },
  }
}

type MessageContext = Pick<OperatorContext, 'onSendable' | 'onActed'> & { readonly act: Act }

function createMessageOperator(context: MessageContext): Pick<Operator, MessageActions> {
  const { act, onSendable } = context
  return {
    findMessage: async (given) => {
      const id = requireId('findMessage.id', given, 'a message')
      return act((store) => store.messages.find(id))
    },
    listMessages: async (query = {}) => {
      const resolved = resolveMessageQuery('listMessages', query)
      return act((store) => listMessages(store.messages, resolved))
    },
    retryMessage: async (id, options) => {
      const result = await decideMessage(context, 'retryMessage', id, options)
      onSendable()
      return result
    },
    confirmMessage: async (id, options) => decideMessage(context, 'confirmMessage', id, options),
    discardMessage: async (id, options) => decideMessage(context, 'discardMessage', id, options),
  }
}

async function decideMessage(
  { act, onActed }: MessageContext,
  action: MessageAction,
  given: MessageId,
  options: ActionOptions = {},
): Promise<ActionResult> {
  const id = requireId(`${action}.id`, given, 'a message')
  const order = requireOrder(action, options)
  const decided = await act((store) => store.messages.decide(action, id, order))
  if (decided.status === 'refused') {
    // The store decides by the state, which a message that is not there has not.
    const isUnknown =
      decided.code === 'MESSAGE_STATE' &&
      (await act((store) => store.messages.find(id))) === undefined
    return refuse(action, isUnknown ? 'MESSAGE_UNKNOWN' : decided.code)
  }
  onActed({ action, subject: { kind: 'message', id }, actor: order.actor, reason: order.reason })
  return decided
}
