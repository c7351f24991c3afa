import { createInbox } from '../../src/index.ts'
import { fillInbox, SOURCES } from './fill-inbox.ts'
import { callOutside, effectsOf } from './drain-config.ts'
import type { DrainConfig } from './drain-config.ts'
import { openStore } from './open-store.ts'
import { hear, runSubject, say, startClock } from './subject.ts'

type StepsConfig = DrainConfig & { readonly concurrency: number; readonly stepsMax: number }

/** Ours: the two writes exactly once, the call with its key, every step kept. */
runSubject<StepsConfig>(async (config) => {
  await fillInbox(config)
  say({ kind: 'filled' })
  await hear('go')
  say({ kind: 'finished', ...(await drain(config)) })
})

async function drain(config: StepsConfig) {
  const { concurrency, stepsMax, events } = config
  const { store, close } = openStore(config)
  const inbox = createInbox({ store, sources: SOURCES, worker: { concurrency, stepsMax } })
  inbox.steps('stripe', 'invoice.paid', async ({ payload }, step) => {
    const [first, second] = effectsOf(payload.id)
    const order = await step.tx('create order', async (tx) => {
      await tx.query(first.text, first.values)
      return { id: payload.id }
    })
    const label = await step.call('buy label', () => callOutside(order.id))
    await step.tx('ship', async (tx) => {
      await tx.query(second.text, second.values)
      return label
    })
  })
  const counts = { failed: 0, lost: 0, errors: 0 }
  inbox.events.on('event.failed', () => (counts.failed += 1))
  inbox.events.on('event.dead', () => (counts.failed += 1))
  inbox.events.on('lease.lost', () => (counts.lost += 1))
  inbox.events.on('worker.error', () => (counts.errors += 1))
  let left = events
  const drained = new Promise<void>((resolve) => {
    inbox.events.on('event.done', () => {
      left -= 1
      if (left === 0) resolve()
    })
  })
  const stopClock = startClock()
  await inbox.start()
  await drained
  const taken = stopClock()
  await inbox.stop()
  await close()
  return { ...taken, notes: counts }
}
