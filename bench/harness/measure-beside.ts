/**
 * How long the events of a quiet source take from delivery to done, beside another source that makes trouble.
 *
 * @module
 */

import { setTimeout as sleep } from 'node:timers/promises'
import { createInbox } from '../../src/index.ts'
import { hmac } from '../../src/providers/index.ts'
import { sign } from '../../src/testing/index.ts'
import { openStore } from '../subjects/open-store.ts'
import type { ReceiveConfig } from '../subjects/receive-config.ts'
import type { Check, Measurement } from './measurement.ts'

const SECRET = 'a secret of the fairness bench'
const OPTIONS = {
  secrets: [SECRET],
  header: 'x-signature',
  algorithm: 'sha256',
  encoding: 'hex',
  key: 'json:$.id',
  type: 'json:$.type',
} as const
const SILENT = { debug() {}, info() {}, warn() {}, error() {} }
const HOT = { order: { mode: 'fifo', lane: () => 'hot' } } as const
/** How many of the backlog are delivered at once. */
const PARALLEL = 500
const FEED_EVERY_MS = 50
const PAUSE_MS = 5
/** In so many parts of the samples the trouble is looked for. */
const PARTS = 5

export interface Trouble {
  readonly name: string
  /** How many there are from the start, and how many more come while the quiet ones are measured. */
  readonly events: number
  readonly perSecond: number
  readonly isForPostgresOnly?: boolean
  /** Whether all of them are in one `fifo` lane. */
  readonly isOneLane?: boolean
  /** Left out where there is no handler at all. */
  readonly handler?: (context: HandlerContext) => Promise<unknown>
}

interface HandlerContext {
  readonly signal: AbortSignal
  readonly tx: { query(text: string): Promise<unknown> }
}

/** What the quiet ones wait, in ms, and what the others did meanwhile. */
export async function measureBeside(
  config: ReceiveConfig,
  { events, perSecond, handler, isOneLane = false }: Trouble,
  samples: number,
): Promise<Measurement> {
  const { store, close } = openStore(config)
  const inbox = createInbox({
    store,
    sources: { noisy: hmac(OPTIONS), quiet: hmac(OPTIONS) },
    logger: SILENT,
  })
  const deliver = async (source: 'noisy' | 'quiet', id: string): Promise<void> => {
    const body = JSON.stringify({ id, type: 'happened' })
    const { status } = await inbox.receive(source, sign('hmac', { body }, OPTIONS))
    if (status !== 200) throw new Error(`A delivery was answered ${status}`)
  }
  const noise = { under: 0, counted: 0 }
  if (handler !== undefined)
    inbox.on('noisy', 'happened', isOneLane ? HOT : {}, async (_event, { tx, signal }) => {
      noise.under += 1
      try {
        await handler({ tx, signal })
      } finally {
        noise.under -= 1
      }
    })
  inbox.on('quiet', 'happened', (_event, { tx }) => tx.query('select 1'))
  const waiting = new Map<string, () => void>()
  let doubled = 0
  inbox.events.on('event.done', ({ source, key }) => {
    if (source !== 'quiet') return
    const isDone = waiting.get(key)
    if (isDone === undefined) doubled += 1
    waiting.delete(key)
    isDone?.()
  })
  for (const name of ['event.done', 'event.failed', 'event.dead', 'event.unhandled'] as const)
    inbox.events.on(name, ({ source }) => (noise.counted += source === 'noisy' ? 1 : 0))

  for (let from = 0; from < events; from += PARALLEL) {
    const ids = Array.from({ length: Math.min(PARALLEL, events - from) }, (_, n) => `${from + n}`)
    await Promise.all(ids.map((id) => deliver('noisy', id)))
  }
  await inbox.start()
  const feed = startFeed(perSecond, (id) => deliver('noisy', id))

  const waitsMs: number[] = []
  const startedAt = performance.now()
  const parts: number[] = []
  for (let part = 0; part < PARTS; part += 1) {
    const before = noise.counted
    for (let n = 0; n < samples / PARTS; n += 1) {
      const id = `quiet_${part}_${n}`
      const isDone = new Promise<void>((resolve) => waiting.set(id, resolve))
      const deliveredAt = performance.now()
      await deliver('quiet', id)
      await isDone
      waitsMs.push(performance.now() - deliveredAt)
      await sleep(PAUSE_MS)
    }
    parts.push(noise.counted - before + noise.under)
  }
  const seconds = (performance.now() - startedAt) / 1_000
  await feed.end()
  await inbox.stop()
  await close()
  waitsMs.sort((a, b) => a - b)
  const at = (share: number): number => waitsMs[Math.floor(waitsMs.length * share)] ?? Infinity
  return {
    rate: waitsMs.length / seconds,
    lost: 0,
    doubled,
    notes: { meanwhile: parts.join(' ') },
    figures: { 'delivery to done p50 ms': at(0.5), 'delivery to done p99 ms': at(0.99) },
  }
}

/** Whether the others ran, failed, hung or were parked in every part of the samples. */
export function checkTrouble(name: string, measurements: readonly Measurement[]): Check {
  const meanwhile = measurements.map(({ notes }) => String(notes['meanwhile']))
  const isOk = meanwhile.every((parts) => parts.split(' ').every((count) => Number(count) > 0))
  const detail = `of the others, in each fifth of the samples: ${meanwhile.join('; ')}`
  return { name: `${name}, as long as is measured`, isOk, detail }
}

/** Delivers at an even rate, whatever becomes of it. */
function startFeed(
  perSecond: number,
  deliver: (id: string) => Promise<void>,
): { end(): Promise<void> } {
  let count = 0
  const startedAt = performance.now()
  const sent = new Set<Promise<void>>()
  const timer = setInterval(() => {
    const due = ((performance.now() - startedAt) / 1_000) * perSecond
    for (; count < due; count += 1) {
      const sending = deliver(`fed_${count}`)
        .catch(() => undefined)
        .finally(() => sent.delete(sending))
      sent.add(sending)
    }
  }, FEED_EVERY_MS)
  return {
    end: async () => {
      clearInterval(timer)
      await Promise.all(sent)
    },
  }
}
