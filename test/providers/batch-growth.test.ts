/**
 * What a signed request costs, from its bytes to the drafts of its events, at the limit and at a quarter of it.
 * Four times the events may cost four times as much, and not sixteen times.
 */

import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, test } from 'vitest'
import type { Delivery } from '../../src/model/delivery.ts'
import type { EventDraft } from '../../src/model/event.ts'
import type { Source } from '../../src/model/source.ts'
import { draftEvents } from '../../src/receive/identity.ts'
import { RECEIVE_DEFAULTS } from '../../src/receive/options.ts'
import { makeSubject } from '../../src/testing/check-subject.ts'
import { findCase } from './find-case.ts'
import { listSignedBatches } from './signed-batches.ts'
import { PROVIDERS } from './vector.ts'

const { eventsMax } = RECEIVE_DEFAULTS
/** Between what is linear (4) and what is quadratic (16). */
const GROWTH_MAX = 8
/** What is less is cheap, whatever it grows to, and too little to be measured. */
const FLOOR = { cpuMs: 25, heapBytes: 4_194_304, keptBytes: 65_536 }

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void
const batches = await listSignedBatches()

describe('R60: a signed batch costs time, memory and bytes in proportion to its size:', () => {
  for (const { slug, shape, source, deliver } of batches) {
    test(`${slug}, ${shape}`, async () => {
      const [small, large] = [deliver(eventsMax / 4), deliver(eventsMax)]
      expect(await source.verify(large)).toMatchObject({ ok: true })

      expectLinearTime(source, small, large)
      const ofSmall = await measureDrafts(source, small)
      const ofLarge = await measureDrafts(source, large)

      for (const name of ['heapBytes', 'keptBytes'] as const) {
        const most = GROWTH_MAX * Math.max(ofSmall[name], FLOOR[name])
        expect(ofLarge[name], name).toBeLessThan(most)
      }
    })
  }
})

describe('R60: a signed request of one event is identified in proportion to its size:', () => {
  for (const [slug, provider] of PROVIDERS) {
    if (provider.definition.batch !== undefined) continue
    test(slug, async () => {
      const one = await findCase(slug)
      if (one === undefined) throw new Error(`${slug} has no case`)
      const { source, types, deliver } = makeSubject(provider, one)
      for (const type of types) {
        const sample = deliver({ type })
        const body = parse(sample.body)
        if (body === undefined) continue
        const grown = (times: number): Delivery => ({
          ...sample,
          body: Buffer.from(JSON.stringify(grow(body, times))),
        })

        expectLinearTime(source, grown(500), grown(2_000))
      }
    })
  }
})

function draftsOf(source: Source, delivery: Delivery): readonly EventDraft[] {
  const verdict = { ok: true, secret: 'label' } as const
  const context = { sourceName: 'source', source, delivery, verdict }
  return draftEvents(context, source.identify(delivery, verdict, { eventsMax }))
}

/** By turns, so that what else the machine does falls on both; again only where it seems to be too much. */
function expectLinearTime(source: Source, small: Delivery, large: Delivery): void {
  let [ofSmall, ofLarge] = [Infinity, Infinity]
  for (let round = 1; round <= 3; round += 1) {
    ofSmall = Math.min(ofSmall, measureCpuMs(source, small))
    ofLarge = Math.min(ofLarge, measureCpuMs(source, large))
    if (isLinear(ofSmall, ofLarge)) return
  }
  expect.fail(`${ofSmall} ms of the processor become ${ofLarge} for four times as much`)
}

function isLinear(ofSmall: number, ofLarge: number): boolean {
  return ofLarge < GROWTH_MAX * Math.max(ofSmall, FLOOR.cpuMs)
}

/** CPU time, and not that of a clock: others are at work on the same machine. */
function measureCpuMs(source: Source, delivery: Delivery): number {
  const before = process.cpuUsage()
  draftsOf(source, delivery)
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1_000
}

/** What is held while the drafts wait for the store, and what of them is stored. */
async function measureDrafts(
  source: Source,
  delivery: Delivery,
): Promise<{ readonly heapBytes: number; readonly keptBytes: number }> {
  const before = await measureHeap()
  const drafts = draftsOf(source, delivery)
  const heapBytes = (await measureHeap()) - before
  const keptBytes = drafts.reduce(
    (sum, { body, key = '', type }) => sum + body.byteLength + key.length + type.length,
    drafts[0]?.request?.byteLength ?? 0,
  )
  return { heapBytes, keptBytes }
}

/** What is outside of the heap is given back a little after what pointed to it. */
async function measureHeap(): Promise<number> {
  for (let round = 0; round < 2; round += 1) {
    collectGarbage()
    await new Promise((resolve) => setImmediate(resolve))
  }
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

function parse(body: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(body).toString()) as unknown
  } catch {
    return undefined
  }
}

/** Every object has as many members more, each a number that looks like an id, and every list as many elements. */
function grow(value: unknown, times: number): unknown {
  if (Array.isArray(value)) {
    const more = Array.from({ length: times }, (_, n) => ({ id: n, user_id: n }))
    return [...value.map((one) => grow(one, times)), ...more]
  }
  if (typeof value !== 'object' || value === null) return value
  const more = Array.from({ length: times }, (_, n) => [`more${n}_id`, n] as const)
  const members = Object.entries(value).map(([name, one]) => [name, grow(one, times)] as const)
  return Object.fromEntries([...more, ...members])
}
