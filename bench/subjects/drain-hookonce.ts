import { createInbox } from '../../src/index.ts'
import { effectOf } from './drain-config.ts'
import type { DrainConfig } from './drain-config.ts'
import { fillInbox, SOURCES } from './fill-inbox.ts'
import { openStore } from './open-store.ts'
import { hear, runSubject, say, startClock } from './subject.ts'

type HookonceConfig = DrainConfig & {
  readonly concurrency: number
  readonly groupMax: number
  /** Whether the handler waits for the answer to its statement, as those of the peers do. */
  readonly waits?: boolean
  /** In so many `fifo` lanes. Left out, in no order. */
  readonly lanes?: number
  /** How many inboxes drain the queue, each with connections of its own, as in several processes. */
  readonly inboxes?: number
}

/** Ours: one event, one call of the handler, many of them in one transaction. */
runSubject<HookonceConfig>(async (config) => {
  await fillInbox(config)
  say({ kind: 'filled' })
  await hear('go')
  say({ kind: 'finished', ...(await drain(config)) })
})

async function drain(config: HookonceConfig) {
  const { events, inboxes = 1 } = config
  const counts = { failed: 0, reruns: 0, errors: 0 }
  let left = events
  let resolve: () => void = () => undefined
  const drained = new Promise<void>((resolved) => (resolve = resolved))
  const opened = Array.from({ length: inboxes }, () =>
    open(config, counts, () => {
      left -= 1
      if (left === 0) resolve()
    }),
  )
  const stopClock = startClock()
  await Promise.all(opened.map(({ inbox }) => inbox.start()))
  await drained
  const taken = stopClock()
  for (const { inbox, close } of opened) {
    await inbox.stop()
    await close()
  }
  return { ...taken, notes: counts }
}

interface Counts {
  failed: number
  reruns: number
  errors: number
}

function open(config: HookonceConfig, counts: Counts, onDone: () => void) {
  const { concurrency, groupMax, shape, waits = false, lanes } = config
  const { store, close } = openStore(config)
  const inbox = createInbox({ store, sources: SOURCES, worker: { concurrency, groupMax } })
  const lane = ({ payload }: { readonly payload: { readonly id: string } }): string =>
    String(Number(/\d+$/.exec(payload.id)?.[0] ?? 0) % (lanes ?? 1))
  const options = lanes === undefined ? {} : { order: { mode: 'fifo', lane } as const }
  inbox.on('stripe', 'invoice.paid', options, async ({ payload }, { tx }) => {
    const { text, values } = effectOf(shape, payload.id)
    if (waits) await tx.query(text, values)
    else tx.write(text, values)
  })
  inbox.events.on('event.failed', () => (counts.failed += 1))
  inbox.events.on('event.dead', () => (counts.failed += 1))
  inbox.events.on('group.rerun', () => (counts.reruns += 1))
  inbox.events.on('worker.error', () => (counts.errors += 1))
  inbox.events.on('event.done', onDone)
  return { inbox, close }
}
