import { createInbox } from '../../src/index.ts'
import { SOURCES } from './fill-inbox.ts'
import { openStore } from './open-store.ts'
import type { ReceiveConfig } from './receive-config.ts'
import { serveInbox } from './serve-inbox.ts'
import { runSubject } from './subject.ts'

/** Ours, as a user has it: every default, receiving only. */
runSubject<ReceiveConfig>(async (config) => {
  const { store, close, statements } = openStore(config)
  const inbox = createInbox({ store, sources: SOURCES, worker: false })
  await serveInbox(inbox, () => ({ statements: statements() }))
  await close()
})
