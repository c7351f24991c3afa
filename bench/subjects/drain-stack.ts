import { createInbox } from '../../src/index.ts'
import type { DrainConfig } from './drain-config.ts'
import { fillInbox, SOURCES } from './fill-inbox.ts'
import { openLibrary } from './open-library.ts'
import type { LibraryName } from './open-library.ts'
import { hear, runSubject, say, startClock } from './subject.ts'

type StackConfig = DrainConfig & {
  readonly library: LibraryName
  readonly concurrency: number
  readonly groupMax: number
}

/** Ours, with a handler that writes its row by a database library. */
runSubject<StackConfig>(async (config) => {
  await fillInbox(config)
  const { store, write, close } = await openLibrary(config.library, config)
  say({ kind: 'filled' })
  await hear('go')

  const { concurrency, groupMax, events } = config
  const inbox = createInbox({ store, sources: SOURCES, worker: { concurrency, groupMax } })
  const notes = { failed: 0, reruns: 0 }
  let left = events
  let resolve: () => void = () => undefined
  const drained = new Promise<void>((resolved) => (resolve = resolved))
  inbox.on('stripe', 'invoice.paid', ({ payload }, { tx }) => write(tx, payload.id))
  inbox.events.on('event.failed', () => (notes.failed += 1))
  inbox.events.on('event.dead', () => (notes.failed += 1))
  inbox.events.on('group.rerun', () => (notes.reruns += 1))
  inbox.events.on('event.done', () => {
    left -= 1
    if (left === 0) resolve()
  })
  const stopClock = startClock()
  await inbox.start()
  await drained
  const taken = stopClock()
  await inbox.stop()
  await close()
  say({ kind: 'finished', ...taken, notes })
})
