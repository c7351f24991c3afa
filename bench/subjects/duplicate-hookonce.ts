import { createInbox } from '../../src/index.ts'
import { signedDelivery } from '../load/signed-requests.ts'
import { SOURCES } from './fill-inbox.ts'
import { openStore } from './open-store.ts'
import type { ReceiveConfig } from './receive-config.ts'
import { hear, runSubject, say, startClock } from './subject.ts'

export type DuplicateConfig = ReceiveConfig & {
  /** How long the handler runs. */
  readonly handlerMs: number
  /** How many duplicates come meanwhile. */
  readonly duplicates: number
  /** 0 to have the database decide, while the handler's transaction is open. */
  readonly rememberMax: number
}

const nothing = (): void => undefined
const SILENT = { debug: nothing, info: nothing, warn: nothing, error: nothing }

/** Ours: duplicates of one event, spread over the time for which its handler runs. */
runSubject<DuplicateConfig>(async (config) => {
  say({ kind: 'filled' })
  await hear('go')
  say({ kind: 'finished', ...(await measure(config)) })
})

async function measure(config: DuplicateConfig) {
  const { handlerMs, duplicates, rememberMax } = config
  const { store, close } = openStore(config)
  const inbox = createInbox({ store, sources: SOURCES, receive: { rememberMax }, logger: SILENT })
  let runs = 0
  let ended: (() => void) | undefined
  const isDone = new Promise<void>((resolve) => (ended = resolve))
  const isRunning = new Promise<void>((resolve) => {
    inbox.on('stripe', 'invoice.paid', { timeoutMs: 3 * handlerMs }, async (_event, { tx }) => {
      runs += 1
      await tx.query('select 1')
      resolve()
      await new Promise((end) => setTimeout(end, handlerMs))
    })
  })
  inbox.events.on('event.done', () => ended?.())
  await inbox.start()
  const deliver = () =>
    inbox.receive('stripe', {
      method: 'POST',
      url: '/in/stripe',
      receivedAt: new Date(),
      ...signedDelivery(0),
    })
  await deliver()
  await isRunning

  const stopClock = startClock()
  const answersMs: number[] = []
  let answered = 0
  for (let sent = 0; sent < duplicates; sent += 1) {
    const startedAt = performance.now()
    const { status, outcome } = await deliver()
    answersMs.push(performance.now() - startedAt)
    if (status === 200 && outcome === 'duplicate') answered += 1
    // Spread over the handler's whole time, with a margin at its end.
    await new Promise((next) => setTimeout(next, (handlerMs * 0.8) / duplicates))
  }
  const taken = stopClock()
  await isDone
  await inbox.stop()
  await close()
  answersMs.sort((one, other) => one - other)
  const medianMs = answersMs[Math.floor(duplicates / 2)] ?? 0
  return { ...taken, notes: { answered, runs, medianMs, slowestMs: answersMs.at(-1) ?? 0 } }
}
