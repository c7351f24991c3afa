/**
 * How long the events of a quiet source wait beside another type of event that floods, fails, hangs or breaks its
 * connection; against how long they wait alone, in the same run and with every default.
 *
 * @module
 */

import { createInbox } from '../../src/index.ts'
import { hmac } from '../../src/providers/index.ts'
import { sign } from '../../src/testing/index.ts'
import type { BenchContext } from '../harness/context.ts'
import type { Check } from '../harness/measurement.ts'
import { openStore } from '../subjects/open-store.ts'
import type { ReceiveConfig } from '../subjects/receive-config.ts'
import type { Workload } from './workload.ts'

const SECRET = 'a secret of the fairness bench'
const OPTIONS = {
  secrets: [SECRET],
  header: 'x-signature',
  algorithm: 'sha256',
  encoding: 'hex',
  key: 'json:$.id',
  type: 'json:$.type',
} as const
/** How much longer the quiet source may wait beside the other. */
const RATIO_MAX = 5
const PARALLEL = 500

interface Trouble {
  readonly name: string
  readonly events: number
  readonly isForPostgresOnly?: boolean
  /** Left out where there is no handler at all. */
  readonly handler?: (context: HandlerContext) => Promise<unknown>
}

interface HandlerContext {
  readonly signal: AbortSignal
  readonly tx: { query(text: string): Promise<unknown> }
}

const TROUBLES: readonly Trouble[] = [
  { name: 'alone', events: 0 },
  { name: 'a flood that succeeds', events: 100_000, handler: async () => undefined },
  { name: 'a flood that is parked', events: 100_000 },
  {
    name: 'a flood that fails',
    events: 100_000,
    handler: async () => {
      throw new Error('no luck')
    },
  },
  { name: 'handlers that hang', events: 200, handler: ({ signal }) => untilAborted(signal) },
  {
    name: 'handlers that lose their connection',
    events: 200,
    isForPostgresOnly: true,
    handler: ({ tx }) => tx.query('select pg_terminate_backend(pg_backend_pid())'),
  },
  {
    name: 'handlers that set a role',
    events: 200,
    isForPostgresOnly: true,
    handler: ({ tx }) => tx.query('set local role pg_monitor'),
  },
]

export const fairness: Workload = {
  id: 'W13',
  title: 'The p99 of a quiet source beside another type of event, against its p99 alone',
  async run(context) {
    const checks: Check[] = []
    for (const engine of ['PostgreSQL', 'SQLite'] as const) {
      let aloneMs = 0
      for (const trouble of TROUBLES) {
        if (trouble.isForPostgresOnly === true && engine === 'SQLite') continue
        const p99Ms = await measure(context, engine, trouble)
        if (trouble.events === 0) aloneMs = p99Ms
        checks.push(judge(context, `${engine}, ${trouble.name}`, p99Ms, aloneMs))
      }
    }
    return { contestants: [], ratios: [], checks }
  },
}

function judge(context: BenchContext, name: string, p99Ms: number, aloneMs: number): Check {
  const ratio = p99Ms / aloneMs
  const detail = `p99 ${p99Ms.toFixed(1)} ms, ${ratio.toFixed(2)} x alone (at most ${RATIO_MAX})`
  context.say(`  ${name}: ${detail}`)
  return { name, isOk: ratio <= RATIO_MAX, detail }
}

async function measure(context: BenchContext, engine: string, trouble: Trouble): Promise<number> {
  if (engine === 'SQLite')
    return run(context, { sqlite: context.createFile('w13.db'), poolMax: 0 }, trouble)
  return context.withDatabase((postgres) => run(context, { postgres, poolMax: 10 }, trouble))
}

async function run(
  context: BenchContext,
  config: ReceiveConfig,
  { events, handler }: Trouble,
): Promise<number> {
  const { store, close } = openStore(config)
  const inbox = createInbox({
    store,
    sources: { noisy: hmac(OPTIONS), quiet: hmac(OPTIONS) },
    logger: { debug() {}, info() {}, warn() {}, error() {} },
  })
  const deliver = async (source: 'noisy' | 'quiet', id: string) => {
    const body = JSON.stringify({ id, type: 'happened' })
    const { status } = await inbox.receive(source, sign('hmac', { body }, OPTIONS))
    if (status !== 200) throw new Error(`A delivery was answered ${status}`)
  }
  if (handler !== undefined)
    inbox.on('noisy', 'happened', (_event, { tx, signal }) => handler({ tx, signal }))
  inbox.on('quiet', 'happened', (_event, { tx }) => tx.query('select 1'))
  const waiting = new Map<string, () => void>()
  inbox.events.on('event.done', ({ source, key }) => {
    if (source === 'quiet') waiting.get(key)?.()
  })
  const count = context.options.quick ? events / 10 : events
  for (let from = 0; from < count; from += PARALLEL) {
    const ids = Array.from({ length: Math.min(PARALLEL, count - from) }, (_, n) => `${from + n}`)
    await Promise.all(ids.map((id) => deliver('noisy', id)))
  }
  await inbox.start()

  const waitsMs: number[] = []
  const samples = context.options.quick ? 100 : 500
  for (let n = 0; n < samples; n += 1) {
    const id = `quiet_${n}`
    const isDone = new Promise<void>((resolve) => waiting.set(id, resolve))
    await deliver('quiet', id)
    const storedAt = performance.now()
    await isDone
    waitsMs.push(performance.now() - storedAt)
    await new Promise((next) => setTimeout(next, 5))
  }
  await inbox.stop()
  await close()
  return waitsMs.sort((a, b) => a - b)[Math.floor(samples * 0.99)] ?? Infinity
}

function untilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error))
  })
}
