import { describe, expect, test } from 'vitest'
import { StoreUnavailableError } from '../../src/errors.ts'
import type { EventDraft, Recorded } from '../../src/model/event.ts'
import { Batcher } from '../../src/receive/batcher.ts'
import type { BatcherOptions } from '../../src/receive/batcher.ts'
import type { Store } from '../../src/store/contract/store.ts'
import { anEventDraft } from '../support/builders.ts'
import { sqliteUnderTest } from '../support/sqlite-under-test.ts'
import { openStore } from '../support/store-under-test.ts'

/** A real store behind a gate: a batch reaches it, or fails, when the test says so. */
class GatedStore {
  readonly recordConcurrency = 1
  readonly batches: (readonly EventDraft[])[] = []
  readonly #store: Store<unknown>
  readonly #waiting: { open: () => void; fail: (error: Error) => void }[] = []
  #onBatch: (() => void) | undefined

  constructor(store: Store<unknown>) {
    this.#store = store
  }

  async record(
    drafts: readonly EventDraft[],
    options: { deadlineMs: number },
  ): Promise<readonly Recorded[]> {
    this.batches.push(drafts)
    await new Promise<void>((open, fail) => {
      this.#waiting.push({ open, fail })
      this.#onBatch?.()
    })
    return this.#store.events.record(drafts, options)
  }

  /** Resolves when a batch is on its way. */
  async arrived(): Promise<void> {
    if (this.#waiting.length > 0) return
    await new Promise<void>((resolve) => (this.#onBatch = resolve))
  }

  async pass(): Promise<void> {
    await this.arrived()
    this.#waiting.shift()?.open()
  }

  async fail(error: Error): Promise<void> {
    await this.arrived()
    this.#waiting.shift()?.fail(error)
  }
}

const OPTIONS: BatcherOptions = { batchMax: 100, waitingMax: 100, answerTimeoutMs: 60_000 }

async function open(options: Partial<BatcherOptions> = {}) {
  const { store: real, database } = await openStore(sqliteUnderTest('libsql'))
  const store = new GatedStore(real)
  return { store, database, batcher: new Batcher(store, { ...OPTIONS, ...options }) }
}

describe('the batcher', () => {
  test('what arrives while a batch is on its way becomes the next batch', async () => {
    const { store, batcher } = await open()
    const first = batcher.record([anEventDraft({ key: 'a' })])
    await store.arrived()
    const rest = ['b', 'c', 'd'].map((key) => batcher.record([anEventDraft({ key })]))

    await store.pass()
    await first
    await store.pass()
    await Promise.all(rest)

    expect(store.batches.map((batch) => batch.map(({ key }) => key))).toEqual([
      ['a'],
      ['b', 'c', 'd'],
    ])
  })

  test('no answer leaves before its batch has committed', async () => {
    const { store, batcher } = await open()
    let isAnswered = false
    const recording = batcher.record([anEventDraft()]).then(() => (isAnswered = true))

    await store.arrived()
    await new Promise((resolve) => setImmediate(resolve))
    expect(isAnswered).toBe(false)
    await store.pass()
    await recording

    expect(isAnswered).toBe(true)
  })

  test('equal drafts in one batch are sent once, and all but one are duplicates', async () => {
    const { store, batcher } = await open()
    const recording = Promise.all([1, 2, 3].map(() => batcher.record([anEventDraft()])))

    await store.pass()
    const answers = (await recording).flat()

    expect(store.batches).toHaveLength(1)
    expect(store.batches[0]).toHaveLength(1)
    expect(answers.map(({ status }) => status)).toEqual(['accepted', 'duplicate', 'duplicate'])
  })

  test('equal keys with other content are both sent', async () => {
    const { store, batcher } = await open()
    const recording = Promise.all(
      ['1', '2'].map((body) => batcher.record([anEventDraft({ body })])),
    )

    await store.pass()
    await recording

    expect(store.batches[0]).toHaveLength(2)
  })

  test('R55: an event that was signed anew is sent for its other signature, in a batch and beside one', async () => {
    const { store, batcher } = await open()
    const signed = (contentHash: string) => anEventDraft({ contentHash, sameBytes: 'quarantine' })
    const [d, e, f] = ['d', 'e', 'f'].map((letter) => signed(letter.repeat(32)))
    const recording = Promise.all([batcher.record([d!]), batcher.record([e!])])
    await store.arrived()
    const later = batcher.record([f!])

    await store.pass()
    expect(await recording).toMatchObject([
      [{ status: 'accepted', shared: false }],
      [{ status: 'duplicate', shared: false }],
    ])
    await store.pass()
    expect(await later).toMatchObject([{ status: 'duplicate', shared: false }])

    expect(store.batches).toEqual([[d, e], [f]])
  })

  test('a draft equal to one on its way waits for that answer and sends nothing', async () => {
    const { store, batcher } = await open()
    const first = batcher.record([anEventDraft()])
    await store.arrived()
    const second = batcher.record([anEventDraft()])

    await store.pass()

    expect(await first).toMatchObject([{ status: 'accepted', shared: false }])
    expect(await second).toMatchObject([{ status: 'duplicate', shared: true }])
    expect(store.batches).toHaveLength(1)
  })

  test('a draft equal to one whose batch fails, fails with it', async () => {
    const { store, batcher } = await open()
    const first = batcher.record([anEventDraft()])
    await store.arrived()
    const second = batcher.record([anEventDraft()])
    const outcomes = Promise.allSettled([first, second])

    await store.fail(new StoreUnavailableError('down'))

    expect((await outcomes).map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    const again = batcher.record([anEventDraft()])
    await store.pass()
    expect(await again).toMatchObject([{ status: 'accepted' }])
  })

  test('a refused batch is sent one by one, and only the bad one fails', async () => {
    const { store, batcher, database } = await open()
    await database.query(
      `create trigger refuse before insert on hookonce_events when new.event_key = cast('bad' as blob)
       begin select raise(abort, 'refused by the test'); end`,
    )
    const recording = Promise.allSettled(
      ['a', 'bad', 'c'].map((key) => batcher.record([anEventDraft({ key })])),
    )

    for (let batch = 0; batch < 4; batch += 1) await store.pass()

    expect((await recording).map(({ status }) => status)).toEqual([
      'fulfilled',
      'rejected',
      'fulfilled',
    ])
    expect((await recording)[1]).toMatchObject({ reason: { code: 'STORE_REJECTED' } })
    expect(store.batches.map((batch) => batch.length)).toEqual([3, 1, 1, 1])
  })

  test('the drafts of one delivery stay together, whatever the size of a batch', async () => {
    const { store, batcher } = await open({ batchMax: 2 })
    const many = batcher.record(['a', 'b', 'c'].map((key) => anEventDraft({ key })))
    const one = batcher.record([anEventDraft({ key: 'd' })])

    await store.pass()
    await many
    await store.pass()
    await one

    expect(store.batches.map((batch) => batch.length)).toEqual([3, 1])
  })

  test('more than the most that may wait is refused at once', async () => {
    const { store, batcher } = await open({ waitingMax: 2 })
    const first = batcher.record([anEventDraft({ key: 'a' })])
    await store.arrived()
    const waiting = ['b', 'c'].map((key) => batcher.record([anEventDraft({ key })]))

    await expect(batcher.record([anEventDraft({ key: 'd' })])).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
    })

    await store.pass()
    await first
    await store.pass()
    await Promise.all(waiting)
  })

  test('no delivery waits longer than a sender does, while a batch is on its way or before it', async () => {
    const { store, batcher } = await open({ answerTimeoutMs: 20 })
    const first = batcher.record([anEventDraft({ key: 'a' })])
    await store.arrived()
    const waiting = batcher.record([anEventDraft({ key: 'b' })])
    const sharing = batcher.record([anEventDraft({ key: 'a' })])

    for (const recording of [first, waiting, sharing])
      await expect(recording).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })

    const late = batcher.record([anEventDraft({ key: 'c' })])
    await expect(late).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    await store.pass()
    await batcher.drain()
    expect(store.batches.map((batch) => batch.map(({ key }) => key))).toEqual([['a']])
  })

  test('drain waits for what is on its way', async () => {
    const { store, batcher } = await open()
    const recording = batcher.record([anEventDraft()])
    let isDrained = false
    const draining = batcher.drain().then(() => (isDrained = true))
    await store.arrived()
    expect(isDrained).toBe(false)

    await store.pass()
    await Promise.all([recording, draining])

    expect(isDrained).toBe(true)
  })
})
