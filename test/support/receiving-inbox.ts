import { onTestFinished } from 'vitest'
import { createInbox } from '../../src/inbox/inbox.ts'
import type { Inbox } from '../../src/inbox/inbox.ts'
import type { Acknowledgement } from '../../src/model/acknowledgement.ts'
import type { Delivery } from '../../src/model/delivery.ts'
import type { Source } from '../../src/model/source.ts'
import type { Logger } from '../../src/telemetry/logger.ts'
import { DEFAULT_DRIVER, sqliteUnderTest } from './sqlite-under-test.ts'
import type { SqliteDatabaseUnderTest } from './sqlite-under-test.ts'
import { openStore } from './store-under-test.ts'

export interface ReceivingInbox {
  readonly inbox: Inbox<Record<string, Source>, unknown>
  readonly database: SqliteDatabaseUnderTest
  /** What became of a delivery: `accepted`, `duplicate`, `conflict`, `quarantined`, `refused`, … */
  receive(source: string, delivery: Delivery): Promise<Acknowledgement['outcome']>
}

const SILENT: Logger = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }

/** An inbox on SQLite with these sources that receives and runs nothing, for the length of a test. */
export async function openReceivingInbox(
  sources: Readonly<Record<string, Source>>,
  logger: Logger = SILENT,
): Promise<ReceivingInbox> {
  const { database } = await openStore(sqliteUnderTest(DEFAULT_DRIVER))
  const inbox = createInbox({ store: database.newStore(), sources, logger, worker: false })
  onTestFinished(() => inbox.stop())
  return {
    inbox: inbox as unknown as ReceivingInbox['inbox'],
    database,
    receive: async (source, delivery) => (await inbox.receive(source, delivery)).outcome,
  }
}
