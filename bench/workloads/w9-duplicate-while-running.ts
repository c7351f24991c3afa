/**
 * A duplicate must not wait for the handler of its event: the sender would time out and send more.
 * Measured where it is hardest, with the memory of committed keys turned off, so that the database
 * decides while the handler's transaction is open; and as a user has it.
 *
 * @module
 */

import { createInbox } from '../../src/index.ts'
import { stripe } from '../../src/providers/index.ts'
import type { BenchContext } from '../harness/context.ts'
import { medianOf } from '../harness/measure-ratio.ts'
import type { Check } from '../harness/measurement.ts'
import { STRIPE_SECRET, signedDelivery } from '../load/signed-requests.ts'
import { openStore } from '../subjects/open-store.ts'
import type { ReceiveConfig } from '../subjects/receive-config.ts'
import type { Workload } from './workload.ts'

const ANSWER_MS_MAX = 50
const DUPLICATES = 50

export const duplicateWhileRunning: Workload = {
  id: 'W9',
  title:
    'A duplicate arrives while the handler of its event runs for 10 s: answered in under 50 ms',
  async run(context) {
    const checks: Check[] = []
    for (const rememberMax of [0, 50_000]) {
      await context.withDatabase(async (postgres) => {
        checks.push(await measure(context, 'PostgreSQL', { postgres, poolMax: 10 }, rememberMax))
      })
      const sqlite = context.createFile('w9.db')
      checks.push(await measure(context, 'SQLite', { sqlite, poolMax: 0 }, rememberMax))
    }
    return { contestants: [], ratios: [], checks }
  },
}

async function measure(
  context: BenchContext,
  engine: string,
  config: ReceiveConfig,
  rememberMax: number,
): Promise<Check> {
  const handlerMs = context.options.quick ? 2_000 : 10_000
  const { store, close } = openStore(config)
  const inbox = createInbox({
    store,
    sources: { stripe: stripe({ secrets: [STRIPE_SECRET], toleranceSeconds: 86_400 }) },
    receive: { rememberMax },
  })
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

  const answersMs: number[] = []
  let outcomes = 0
  for (let sent = 0; sent < DUPLICATES; sent += 1) {
    const startedAt = performance.now()
    const { status, outcome } = await deliver()
    answersMs.push(performance.now() - startedAt)
    if (status === 200 && outcome === 'duplicate') outcomes += 1
    // Spread over the handler's whole time, with a margin at its end.
    await new Promise((next) => setTimeout(next, (handlerMs * 0.8) / DUPLICATES))
  }
  await isDone
  await inbox.stop()
  await close()

  const slowest = Math.max(...answersMs)
  const name = `${engine}, ${rememberMax === 0 ? 'asking the database' : 'with every default'}`
  const detail =
    `${outcomes} of ${DUPLICATES} duplicates answered as such, median ${medianOf(answersMs).toFixed(1)} ms, ` +
    `slowest ${slowest.toFixed(1)} ms, the handler ran ${runs} time(s)`
  context.say(`  ${name}: ${detail}`)
  return { name, isOk: outcomes === DUPLICATES && slowest < ANSWER_MS_MAX && runs === 1, detail }
}
