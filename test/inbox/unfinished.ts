import assert from 'node:assert/strict'
import { describe, expect, test } from 'vitest'
import { permanent } from '../../src/model/handler-results.ts'
import { destination } from '../../src/outbox/destination.ts'
import type { Happenings } from '../../src/telemetry/happenings.ts'
import { anEventDraft } from '../support/builders.ts'
import { openInbox } from '../support/inbox-under-test.ts'
import { laneOf, openOrdered } from '../support/ordered-inbox.ts'
import { claimMessages, enqueue, unknownMessage } from '../support/outbox-steps.ts'
import { claim, recordOne } from '../support/store-steps.ts'
import type { StoreUnderTest } from '../support/store-under-test.ts'

/** What a start finds that earlier processes have left. Run by `test/inbox/<store>.test.ts`. */
export function unfinishedContract(store: StoreUnderTest): void {
  describe(`${store.name}: what a start finds`, () => {
    test('is told of nowhere when there is nothing', async () => {
      const { inbox } = await openInbox(store)
      const found: unknown[] = []
      inbox.events.on('inbox.found-at-start', (one) => found.push(one))

      await inbox.start()

      expect(found).toEqual([])
      expect(await inbox.admin.findUnfinished()).toEqual({
        at: expect.any(Date),
        leftRunning: [],
        messages: [],
        lanes: {
          waiting: { count: 0, isExact: true },
          blocked: { count: 0, isExact: true },
          gaps: { count: 0, isExact: true },
        },
        wentBack: undefined,
      })
    })

    test('are the events of a worker that gives no sign of life, and not those of one that lives', async () => {
      const opened = await openInbox(store)
      const { inbox, database } = opened
      const dying = database.newStore()
      await dying.open()
      for (const key of ['a', 'b']) await recordOne(dying, anEventDraft({ key }))
      await dying.workers.beat({ workerId: 'worker-1', slots: 1, handles: [] })
      // Its record is the claim where a store has one writer, so that the writer is free for others.
      const { events } = await claim(dying, { limit: 2, opensLate: 'always' })
      await dying.workers.announce({ workerId: 'worker-1', slot: 0 }, events)
      await expect.poll(async () => (await dying.stats.listWorkers())[0]?.running.length).toBe(2)
      await dying.workers.beat({ workerId: 'worker-1', slots: 1, handles: [] })
      expect((await inbox.admin.findUnfinished()).leftRunning).toEqual([])

      await database.query(
        dying.engine === 'postgres'
          ? "update hookonce.workers set beat_at = beat_at - interval '1 hour'"
          : 'update hookonce_workers set beat_at = beat_at - 3600000',
      )
      const told: Happenings['inbox.found-at-start'][] = []
      inbox.events.on('inbox.found-at-start', (one) => told.push(one))

      expect((await inbox.admin.findUnfinished()).leftRunning).toEqual([
        { workerId: 'worker-1', events: 2, silentMs: expect.any(Number) },
      ])
      await inbox.start()
      expect(told).toEqual([
        { leftRunning: 2, uncertainMessages: 0, unknownMessages: 0, blockedLanes: 0, gaps: 0 },
      ])
    })

    test('are the messages that may have arrived', async () => {
      const receipts = destination('receipts', () => undefined)
      const { inbox, store: own } = await openInbox(store, {
        destinations: [receipts],
        relay: false,
      })
      await enqueue(own, { key: 'k1' }, { key: 'k2' }, { key: 'k3' })
      // One is asked a person about. The relay that has claimed the others dies, and its leases end.
      await claimMessages(own, { limit: 1, leaseMs: 0 })
      const [unknown] = await claimMessages(own, { limit: 1, leaseMs: 60_000 })
      assert(unknown)
      await own.messages.settle([unknownMessage(unknown)])
      await claimMessages(own, { limit: 2, leaseMs: 0 })

      await expect
        .poll(async () => (await inbox.admin.findUnfinished()).messages)
        .toEqual([
          { destination: 'receipts', state: 'uncertain', count: 2, isExact: true },
          { destination: 'receipts', state: 'unknown', count: 1, isExact: true },
        ])
      const told = nextFound(inbox)
      await inbox.start()
      expect(await told).toMatchObject({ uncertainMessages: 2, unknownMessages: 1 })
    })

    test('are lanes that a dead event holds up, and lanes in which a number is missing', async () => {
      const { newInbox, deliver, find } = await openOrdered(store)
      const inbox = newInbox()
      const gapMs = 3_600_000
      inbox.on(
        'partner',
        'counted',
        {
          order: { mode: 'sequence', lane: laneOf, gapMs, onGap: 'run' },
        },
        () => undefined,
      )
      inbox.on(
        'partner',
        'lined',
        { order: { mode: 'fifo', lane: laneOf, onDead: 'block' } },
        () => {
          throw permanent('on purpose')
        },
      )
      await inbox.start()
      const [first = '', behind = '', counted = '', last = ''] = await deliver(
        { id: 'd1', lane: 'D', type: 'lined' },
        { id: 'd2', lane: 'D', type: 'lined' },
        { id: 's1', lane: 'S', type: 'counted', n: 1 },
        { id: 's3', lane: 'S', type: 'counted', n: 3 },
      )
      await expect.poll(async () => (await find(first)).state).toBe('dead')
      for (const id of [behind, last])
        await expect.poll(async () => (await find(id)).state).toBe('waiting')
      await expect.poll(async () => (await find(counted)).state).toBe('done')
      await inbox.stop()

      const later = newInbox()
      later.on('partner', '*', () => undefined)
      const told = nextFound(later)
      await expect
        .poll(async () => (await later.admin.findUnfinished()).lanes)
        .toEqual({
          waiting: { count: 2, isExact: true },
          blocked: { count: 1, isExact: true },
          gaps: { count: 1, isExact: true },
        })
      await later.start()
      expect(await told).toMatchObject({ blockedLanes: 1, gaps: 1 })
    })
  })
}

function nextFound(inbox: {
  readonly events: {
    on(
      name: 'inbox.found-at-start',
      listener: (found: Happenings['inbox.found-at-start']) => void,
    ): unknown
  }
}): Promise<Happenings['inbox.found-at-start']> {
  return new Promise((resolve) => inbox.events.on('inbox.found-at-start', resolve))
}
