/**
 * Deliveries keep coming while old events are pruned: what the pruner takes from them.
 *
 * The old events are written with SQL, done sixty days ago, so that a run has all of them to remove. What is
 * compared is the time until an answer, before the run and during it, at the same rate in the same process.
 *
 * @module
 */

import { createInbox } from '../../src/index.ts'
import { stripe } from '../../src/providers/index.ts'
import type { BenchContext } from '../harness/context.ts'
import { measureRatio } from '../harness/measure-ratio.ts'
import type { Check, MeasuredRatio, Measurement } from '../harness/measurement.ts'
import { STRIPE_SECRET, signedDelivery } from '../load/signed-requests.ts'
import { fillDone } from '../subjects/fill-done.ts'
import { openStore } from '../subjects/open-store.ts'
import type { ReceiveConfig } from '../subjects/receive-config.ts'
import type { Workload } from './workload.ts'

const RATE = 200
/** Answers are slowed by less than half, at the median and at the 99th of a hundred. */
const SLOWED_MAX = 1.5
const FIGURES = ['answer p50 ms', 'answer p99 ms'] as const

export const pruneBesideDeliveries: Workload = {
  id: 'W14',
  title: '1,000,000 done events are pruned while 200 deliveries a second arrive',
  rounds: 1,
  async run(context) {
    const measured: Measured[] = []
    await context.withDatabase(async (postgres) => {
      measured.push(await measure(context, 'PostgreSQL', { postgres, poolMax: 10 }))
    })
    const sqlite = context.createFile('w14.db')
    measured.push(await measure(context, 'SQLite', { sqlite, poolMax: 0 }))
    return {
      contestants: [],
      ratios: measured.flatMap(({ ratios }) => ratios),
      checks: measured.map(({ check }) => check),
    }
  },
}

interface Measured {
  readonly ratios: readonly MeasuredRatio[]
  readonly check: Check
}

async function measure(
  context: BenchContext,
  engine: string,
  config: ReceiveConfig,
): Promise<Measured> {
  const { quick } = context.options
  const events = quick ? 20_000 : 1_000_000
  const { store, close } = openStore(config)
  const inbox = createInbox({
    store,
    sources: { stripe: stripe({ secrets: [STRIPE_SECRET], toleranceSeconds: 86_400 }) },
    worker: false,
    retention: { daily: false },
  })
  await inbox.start()
  await fillDone(config, events)
  const load = new PacedDeliveries((nth) =>
    inbox.receive('stripe', {
      method: 'POST',
      url: '/in/stripe',
      receivedAt: new Date(),
      ...signedDelivery(nth),
    }),
  )
  await load.until(new Promise((end) => setTimeout(end, 2_000)))
  const before = await load.until(new Promise((end) => setTimeout(end, quick ? 2_000 : 20_000)))
  const startedAt = performance.now()
  const pruning = inbox.admin.prune({ force: true, reason: 'to be measured' })
  const during = await load.until(pruning)
  const seconds = (performance.now() - startedAt) / 1_000
  const result = await pruning
  await inbox.stop()
  await close()

  const { removed } = result
  const detail =
    `${removed.events} events and ${removed.keys} keys removed in ${seconds.toFixed(1)} s; answers p50 ` +
    `${at(before, 0.5)} ms before and ${at(during, 0.5)} ms during, p99 ${at(before, 0.99)} and ` +
    `${at(during, 0.99)} ms, slowest ${at(before, 1)} and ${at(during, 1)} ms, ${during.length} answers during`
  context.say(`  ${engine}: ${detail}`)
  const isOk = removed.events === events && removed.keys === events
  const [early, late] = [`${engine}, before it prunes`, `${engine}, while it prunes`]
  const answers = new Map([
    [early, [measurementOf(before)]],
    [late, [measurementOf(during)]],
  ])
  return {
    ratios: FIGURES.flatMap(
      (figure) =>
        measureRatio({ of: late, against: early, figure, atMost: SLOWED_MAX }, answers) ?? [],
    ),
    check: { name: engine, isOk, detail },
  }
}

function measurementOf(times: readonly number[]): Measurement {
  const figures = { 'answer p50 ms': at(times, 0.5), 'answer p99 ms': at(times, 0.99) }
  return { rate: RATE, lost: 0, doubled: 0, notes: {}, figures }
}

function at(times: readonly number[], share: number): number {
  const sorted = [...times].sort((a, b) => a - b)
  const found = sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0
  return Number(found.toFixed(1))
}

/** So many a second, whether or not the inbox keeps up: the time counts from when a delivery was due. */
class PacedDeliveries {
  readonly #deliver: (nth: number) => Promise<{ readonly status: number }>
  #sent = 0

  constructor(deliver: (nth: number) => Promise<{ readonly status: number }>) {
    this.#deliver = deliver
  }

  /** How long each answer took that was asked for until then, in ms. */
  async until(end: Promise<unknown>): Promise<readonly number[]> {
    let isOver = false
    void end.then(() => (isOver = true))
    const startedAt = performance.now()
    const answers: Promise<number>[] = []
    while (!isOver) {
      const due = Math.floor(((performance.now() - startedAt) / 1_000) * RATE)
      while (answers.length < due)
        answers.push(this.#time(startedAt + (answers.length * 1_000) / RATE))
      await new Promise((resolve) => setTimeout(resolve, 1))
    }
    return Promise.all(answers)
  }

  async #time(dueAt: number): Promise<number> {
    this.#sent += 1
    const { status } = await this.#deliver(this.#sent)
    if (status !== 200) throw new Error(`A delivery was answered ${status}`)
    return performance.now() - dueAt
  }
}
