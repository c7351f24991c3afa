import { createInbox } from '../../src/index.ts'
import { effectOf } from './drain-config.ts'
import { EventTimes } from './event-times.ts'
import { SOURCES } from './fill-inbox.ts'
import { openStore } from './open-store.ts'
import type { RunConfig } from './receive-config.ts'
import { serveInbox } from './serve-inbox.ts'
import { runSubject } from './subject.ts'

/** Ours, as a user has it: every default, receiving over HTTP and running a handler that writes one row. */
runSubject<RunConfig>(async (config) => {
  const { store, close } = openStore(config)
  const inbox = createInbox({ store, sources: SOURCES })
  inbox.on('stripe', 'invoice.paid', async ({ payload }, { tx }) => {
    const { text, values } = effectOf('row', payload.id)
    if (config.waits === true) await tx.query(text, values)
    else tx.write(text, values)
  })
  const times = new EventTimes(config.timedFrom)
  let done = 0
  let failed = 0
  let isPruning = false
  const prune = async () => {
    isPruning = true
    await inbox.admin.prune({ force: true, reason: 'to be measured' })
    isPruning = false
  }
  inbox.events.on('event.done', ({ key }) => {
    done += 1
    // One that is still at it when the inbox stops has removed less, and nothing else.
    if (done === 1 && config.prunes) prune().catch(() => {})
    times.done(key)
  })
  inbox.events.on('event.failed', () => (failed += 1))
  inbox.events.on('delivery.accepted', ({ key = '' }) => times.stored(key))
  await serveInbox(inbox, () => ({
    done,
    failed,
    ...(config.prunes && { prunes: Number(isPruning) }),
    ...times.summarise(),
  }))
  await close()
})
