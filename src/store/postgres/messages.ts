import { createUuidV7Generator } from '../../model/uuid-v7.ts'
import type { MessageStore } from '../contract/messages.ts'
import { quoteName } from '../shared/quote-name.ts'
import { atMostOnce } from './act-on-event.ts'
import type { Connections } from './connections.ts'
import type { PostgresTx } from './tx.ts'
import { isEventId } from './is-event-id.ts'
import { findLentTx } from './lent-tx.ts'
import { LowWaterPositions } from './low-water-positions.ts'
import { requireTransaction } from './require-transaction.ts'
import { refuseAborted } from './store-error.ts'
import {
  asClaimedMessage,
  CLAIM_MESSAGES,
  claimValues,
  readDueForMs,
} from './sql/claim-messages.ts'
import { decideMessage } from './sql/decide-message.ts'
import { ENQUEUE_MESSAGES, enqueueInOwn, enqueueMessages } from './sql/enqueue-messages.ts'
import { findMessage, readMessages } from './sql/message-record.ts'
import { findNextMessageDueInMs } from './sql/next-message-due.ts'
import { pause } from './sql/pauses.ts'
import { SETTLE_MESSAGES, settleMessageValues } from './sql/settle-messages.ts'
import { walkMessages } from './sql/walk-messages.ts'

/** The part of the store that keeps messages. */
export function createMessages(schema: string, connections: Connections): MessageStore<PostgresTx> {
  // Nothing is decided by the time in a message's id, so this process's clock will do.
  const newId = createUuidV7Generator(Date.now)
  const quoted = quoteName(schema)
  const enqueueText = ENQUEUE_MESSAGES.replaceAll('{schema}', quoted)
  const positions = new LowWaterPositions()

  return {
    enqueue: async (tx, messages) => {
      if (messages.length === 0) return
      const numbered = messages.map((draft) => ({ id: newId(), draft }))
      const lent = findLentTx(tx)
      // A handler may have taken on a role that may not write our tables.
      const written =
        lent === undefined
          ? enqueueInOwn(tx, quoted, numbered)
          : enqueueMessages((text, values) => lent.queryAsOurs(text, values), enqueueText, numbered)
      // Not what is wrong with the messages: what is wrong was said before, and the caller did not listen.
      await written.catch(refuseAborted)
    },
    requireTransaction,
    claim: async ({ wanted, leaseMs }) => {
      if (wanted.length === 0) return []
      const placed = wanted.map((each) => positions.begin(each))
      const rows = await connections.commitQuery(CLAIM_MESSAGES, claimValues(placed, leaseMs))
      const dueForMs = readDueForMs(rows)
      for (const each of placed) positions.end(each, dueForMs.get(each.destination))
      return rows.map(asClaimedMessage)
    },
    settle: async (settlements) => {
      if (settlements.length === 0) return new Set()
      const values = settleMessageValues(settlements)
      const rows = await connections.commitQuery<'token'>(SETTLE_MESSAGES, values)
      return new Set(rows.map(({ token }) => token ?? ''))
    },
    nextDueInMs: async (destinations, withinMs) => {
      const placed = destinations.map((destination) => positions.find(destination))
      const dueInMs = await connections.use((connection) =>
        findNextMessageDueInMs(connection, placed, withinMs),
      )
      const known = [dueInMs, ...placed.map(({ wholeInMs }) => wholeInMs)].filter(
        (ms) => ms !== undefined,
      )
      return known.length === 0 ? undefined : Math.min(...known)
    },
    pauseDestination: async (name, reason) => {
      const subject = { kind: 'destination', name } as const
      const order = { reason, actor: 'relay', token: undefined }
      const acted = await connections.transact((connection) => pause(connection, subject, order))
      return acted.status === 'done'
    },
    find: async (id) =>
      isEventId(id) ? connections.use((connection) => findMessage(connection, id)) : undefined,
    walk: (request) => connections.use((connection) => walkMessages(connection, request)),
    read: (ids) => connections.use((connection) => readMessages(connection, ids)),
    decide: async (action, id, order) =>
      isEventId(id)
        ? atMostOnce(() =>
            connections.transact((connection) => decideMessage(connection, action, id, order)),
          )
        : { status: 'refused', code: 'MESSAGE_STATE' },
  }
}
