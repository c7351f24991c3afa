import { createUuidV7Generator } from '../../model/uuid-v7.ts'
import type { MessageStore } from '../contract/messages.ts'
import type { Connections } from './connections.ts'
import { requireTransaction } from './require-transaction.ts'
import { isLentTx } from './tx.ts'
import type { SqliteTx } from './tx.ts'
import { claimMessages, hasDueMessages } from './sql/claim-messages.ts'
import { decideMessage } from './sql/decide-message.ts'
import { enqueueMessages } from './sql/enqueue-messages.ts'
import { findMessage, readMessages } from './sql/message-record.ts'
import { findNextMessageDueInMs } from './sql/next-message-due.ts'
import { pause } from './sql/pauses.ts'
import { settleMessages } from './sql/settle-messages.ts'
import { walkMessages } from './sql/walk-messages.ts'

/** The part of the store that keeps messages. */
export function createMessages(prefix: string, connections: Connections): MessageStore<SqliteTx> {
  const newId = createUuidV7Generator(Date.now)

  return {
    enqueue: async (tx, messages) => {
      const numbered = messages.map((draft) => ({ id: newId(), draft }))
      await enqueueMessages(tx, prefix, numbered)
    },
    requireTransaction: async (tx) => {
      if (!isLentTx(tx)) await requireTransaction(tx, prefix, connections)
    },
    claim: async (claim) => {
      if (!(await connections.read((reader) => hasDueMessages(reader, claim)))) return []
      return connections.write('durably', (connection, breaks) =>
        claimMessages(connection, breaks, claim),
      )
    },
    settle: async (settlements) => {
      if (settlements.length === 0) return new Set()
      return connections.write('durably', (connection, breaks) =>
        settleMessages(connection, breaks, settlements),
      )
    },
    nextDueInMs: (destinations, withinMs) =>
      connections.read((reader) => findNextMessageDueInMs(reader, destinations, withinMs)),
    pauseDestination: async (name, reason) => {
      const subject = { kind: 'destination', name } as const
      const order = { reason, actor: 'relay', token: undefined }
      const acted = await connections.write('durably', (connection) =>
        pause(connection, subject, order),
      )
      return acted.status === 'done'
    },
    find: (id) => connections.read((reader) => findMessage(reader, id)),
    walk: (request) => connections.read((reader) => walkMessages(reader, request)),
    read: (ids) => connections.read((reader) => readMessages(reader, ids)),
    decide: (action, id, order) =>
      connections.write('durably', (connection) => decideMessage(connection, action, id, order)),
  }
}
