/**
 * Messages to send, on a database of their own, and an inbox that looks at them.
 *
 * @module
 */

import type { MessageRecord } from '../../../src/model/message.ts'
import type { MessageState } from '../../../src/model/message-state.ts'
import { destination } from '../../../src/outbox/destination.ts'
import type { Destination } from '../../../src/outbox/destination.ts'
import type { RelayOptions } from '../../../src/outbox/options.ts'
import { createFaultDatabase } from './fault-database.ts'
import type { Engine, FaultDatabase } from './fault-database.ts'
import { accept, createFaultInbox } from './fault-inbox.ts'
import type { FaultInbox } from './fault-inbox.ts'
import { fromPartner } from './fault-sources.ts'
import { until } from './until.ts'

export interface OutboxUnderFault {
  readonly database: FaultDatabase
  /** Writes messages to `sink`, through the handlers of an inbox that sends nothing. */
  write(count: number, destination?: string): Promise<void>
  /** An inbox that sends, started. */
  relay(destinations: readonly Destination[], options?: RelayOptions): Promise<FaultInbox>
  list(state: MessageState): Promise<readonly MessageRecord[]>
  /** Until so many messages are in the state; the messages. */
  untilIn(state: MessageState, count?: number): Promise<readonly MessageRecord[]>
  readonly writer: FaultInbox
}

/** A retry policy for tests: again at once, and often. */
export const AT_ONCE = { firstMs: 0, factor: 1, maxMs: 0, attemptsMax: 50 } as const

export async function openOutbox(
  engine: Engine,
  names: readonly string[] = ['sink', 'other'],
): Promise<OutboxUnderFault> {
  const database = await createFaultDatabase(engine)
  const writer = createFaultInbox(database, {
    worker: { concurrency: 1 },
    destinations: names.map((name) => destination(name, () => undefined)),
  })
  writer.inbox.on('partner', '*', async (event, { send }) => {
    const { to, many } = event.payload as { to: string; many: number }
    for (let i = 0; i < many; i += 1) await send(to, { event: event.key, i })
  })
  await writer.inbox.start()
  let written = 0

  const list = async (state: MessageState): Promise<readonly MessageRecord[]> => {
    const found: MessageRecord[] = []
    let cursor: string | undefined
    do {
      const query = { state, limit: 1_000, ...(cursor !== undefined && { cursor }) }
      const page = await writer.inbox.admin.listMessages(query)
      found.push(...page.messages)
      cursor = page.cursor
    } while (cursor !== undefined)
    return found
  }
  return {
    database,
    writer,
    list,
    write: async (count, to = 'sink') => {
      written += 1
      const key = `evt_${to}_${written}`
      await accept(writer, fromPartner({ key, ...{ to, many: count } }))
      await writer.untilHappened('event.done', key)
    },
    relay: async (destinations, options = {}) => {
      const relay = createFaultInbox(database, { destinations, relay: options })
      await relay.inbox.start()
      return relay
    },
    untilIn: async (state, count = 1) => {
      await until(`${count} messages are ${state}`, async () => (await list(state)).length >= count)
      return list(state)
    },
  }
}
