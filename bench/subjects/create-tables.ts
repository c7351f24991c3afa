import { createInbox } from '../../src/index.ts'
import { SOURCES } from './fill-inbox.ts'
import { openStore } from './open-store.ts'
import type { ReceiveConfig } from './receive-config.ts'

/** As the first start of an inbox does, for workloads that fill them before the subject starts. */
export async function createTables(config: ReceiveConfig): Promise<void> {
  const { store, close } = openStore(config)
  const inbox = createInbox({ store, sources: SOURCES, worker: false })
  await inbox.start()
  await inbox.stop()
  await close()
}
