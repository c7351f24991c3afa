/** What waits for the one writer beside events that were slow the last time they had it. */

import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import type { OpenStep } from '../../../src/store/contract/steps.ts'
import { SLOW_MS } from '../../../src/store/sqlite/hold-times.ts'
import { aClaim, anEventDraft } from '../../support/builders.ts'
import { leaseOne } from '../../support/lease-steps.ts'
import { DEFAULT_DRIVER, sqliteUnderTest } from '../../support/sqlite-under-test.ts'
import { claim, done, recordOne } from '../../support/store-steps.ts'
import { openStore } from '../../support/store-under-test.ts'

const underTest = sqliteUnderTest(DEFAULT_DRIVER)
const OTHER_SLOT = { workerId: 'worker-1', slot: 1 }
const LIMITS = { idleTimeoutMs: 60_000, lockTimeoutMs: 0 }

/** A store in which one event was slow, and others of its topic wait. */
async function openSlow() {
  const { store } = await openStore(underTest)
  for (const key of ['a', 'b', 'c', 'd', 'e']) await recordOne(store, anEventDraft({ key }))
  const group = await claim(store, { limit: 1 })
  // Long enough that a short turn after it does not make the topic quick again.
  await sleep(4 * SLOW_MS)
  await group.settle(group.events.map(done))
  await group.commit()
  return store
}

type SlowStore = Awaited<ReturnType<typeof openSlow>>

/** In which order those get the writer that ask for it while a handler has it. */
async function listOrder(
  store: SlowStore,
  asked: Readonly<Record<string, () => Promise<unknown>>>,
): Promise<readonly string[]> {
  const holder = await claim(store, { slot: OTHER_SLOT, limit: 1 })
  const order: string[] = []
  const ends = Object.entries(asked).map(async ([name, ask]) => {
    await ask()
    order.push(name)
  })
  // They look at the queue before they wait.
  await new Promise((resolve) => setImmediate(resolve))
  await holder.abandon()
  await Promise.all(ends)
  return order
}

function record(store: SlowStore): Promise<unknown> {
  return recordOne(store, anEventDraft({ key: 'new' }))
}

describe('sqlite: beside slow turns', () => {
  test('H38: a delivery goes before a group that keeps the turn for its handlers', async () => {
    const store = await openSlow()

    const order = await listOrder(store, {
      group: async () => (await store.queue.claim(aClaim({ limit: 2 })))?.abandon(),
      record: () => record(store),
    })

    expect(order).toEqual(['record', 'group'])
  })

  test('H38: a claim whose group opens late is short, and goes by arrival', async () => {
    const store = await openSlow()
    const alone = { limit: 1, opensLate: 'alone' } as const

    const order = await listOrder(store, {
      claim: () => store.queue.claim(aClaim(alone)),
      record: () => record(store),
    })

    expect(order).toEqual(['claim', 'record'])
  })

  test('H38: a delivery goes before a slow handler that writes for the first time', async () => {
    const store = await openSlow()
    const late = await claim(store, { limit: 1, opensLate: 'alone' })

    const order = await listOrder(store, {
      handler: async () => {
        await late.lend().tx.query('select 1')
        await late.abandon()
      },
      record: () => record(store),
    })

    expect(order).toEqual(['record', 'handler'])
  })

  test('H38: a delivery goes before the steps of a handler whose steps were slow', async () => {
    const { store } = await openStore(underTest)
    await recordOne(store, anEventDraft({ key: 'a' }))
    const { lease } = await leaseOne(store)
    await recordOne(store, anEventDraft({ key: 'b' }))
    const step: OpenStep = { lease, kind: 'tx', handler: 'h', position: 1, name: 'slow' }
    const first = await store.steps.open([step], LIMITS)
    await sleep(4 * SLOW_MS)
    await first?.abandon()

    const order = await listOrder(store, {
      step: async () => (await store.steps.open([step], LIMITS))?.abandon(),
      record: () => record(store),
    })

    expect(order).toEqual(['record', 'step'])
  })
})
