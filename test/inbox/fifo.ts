import { describe, expect, onTestFinished, test } from 'vitest'
import { permanent } from '../../src/model/handler-results.ts'
import { blockThread } from '../support/block-thread.ts'
import { apply, AT_ONCE, laneOf, openOrdered } from '../support/ordered-inbox.ts'
import type { StoreUnderTest } from '../support/store-under-test.ts'

const FIFO = { order: { mode: 'fifo', lane: laneOf }, retry: AT_ONCE } as const

/** What a fifo lane promises, on every store. */
export function fifoContract(store: StoreUnderTest): void {
  describe(`${store.name}: fifo`, () => {
    test('O01: what failed twice is applied before what came after it', async () => {
      const { newInbox, deliver, applied } = await openOrdered(store)
      const [e1] = await deliver(
        { id: 'e1', lane: 'K' },
        { id: 'e2', lane: 'K' },
        { id: 'e3', lane: 'K' },
      )
      const inbox = newInbox()
      inbox.on('partner', '*', FIFO, async (event, { tx, attempt }) => {
        if (event.id === e1 && attempt < 3) throw new Error('not yet')
        await apply(tx, event)
      })

      await inbox.start()

      await expect.poll(() => applied('K')).toEqual(['e1', 'e2', 'e3'])
    })

    test('O01: a lane may span types, and is in the order in which they were stored', async () => {
      const { newInbox, deliver, applied } = await openOrdered(store)
      const types = ['a', 'b', 'c', 'd']
      const sent = Array.from({ length: 40 }, (_, at) => ({
        id: `e${at}`,
        lane: 'K',
        type: `item.${types[(at * 7) % 4]}`,
      }))
      await deliver(...sent)
      const inbox = newInbox()
      inbox.on('partner', 'item.*', FIFO, (event, { tx }) => apply(tx, event))

      await inbox.start()

      await expect.poll(() => applied('K')).toEqual(sent.map(({ id }) => id))
    })

    test('O01: in a lane that is full, a group ends where one fails', async () => {
      const { newInbox, deliver, applied } = await openOrdered(store)
      const sent = Array.from({ length: 40 }, (_, at) => ({ id: `e${at}`, lane: 'K' }))
      await deliver(...sent)
      // However slow the machine is, they are grouped.
      const inbox = newInbox({ groupBudgetMs: 60_000 })
      const reruns: number[] = []
      inbox.events.on('group.rerun', ({ size }) => reruns.push(size))
      inbox.on('partner', '*', FIFO, async (event, { tx, attempt }) => {
        if (event.payload.id === 'e20' && attempt < 3) throw new Error('not yet')
        await apply(tx, event)
      })

      await inbox.start()

      await expect.poll(() => applied('K')).toEqual(sent.map(({ id }) => id))
      expect(Math.max(...reruns)).toBeGreaterThan(1)
    })

    test('O02: in a lane that is full, nothing behind a dead event runs', async () => {
      const { newInbox, deliver, applied, find } = await openOrdered(store)
      const sent = Array.from({ length: 20 }, (_, at) => ({ id: `e${at}`, lane: 'K' }))
      const ids = await deliver(...sent)
      const inbox = newInbox()
      const ran: string[] = []
      inbox.on('partner', '*', FIFO, async (event, { tx }) => {
        ran.push(event.payload.id)
        if (event.payload.id === 'e10') throw permanent('broken')
        await apply(tx, event)
      })

      await inbox.start()

      await expect.poll(async () => (await find(ids[10] ?? '')).state).toBe('dead')
      expect(await applied('K')).toEqual(sent.slice(0, 10).map(({ id }) => id))
      expect((await find(ids[11] ?? '')).blockedBy?.eventId).toBe(ids[10])
      expect(ran).not.toContain('e11')
    })

    test('O02: behind a dead event its lane waits, and other lanes do not', async () => {
      const { newInbox, deliver, applied, find } = await openOrdered(store)
      const inbox = newInbox()
      inbox.on('partner', '*', FIFO, async (event, { tx }) => {
        if (event.payload.id === 'e1') throw permanent('broken')
        await apply(tx, event)
      })
      const [e1, e2] = await deliver(
        { id: 'e1', lane: 'K' },
        { id: 'e2', lane: 'K' },
        { id: 'x1', lane: 'L' },
        { id: 'x2', lane: 'L' },
      )

      await inbox.start()

      await expect.poll(() => applied('L')).toEqual(['x1', 'x2'])
      await expect.poll(async () => (await find(e1 ?? '')).state).toBe('dead')
      expect(await applied('K')).toEqual([])
      expect(await find(e2 ?? '')).toMatchObject({
        state: 'waiting',
        lane: 'K',
        blockedBy: { eventId: e1, state: 'dead', until: undefined },
      })
    })

    test.each(['handlers', 'step handlers'])(
      'an event that has ended says in which lane it was: %s',
      async (kind) => {
        const { newInbox, deliver, find } = await openOrdered(store)
        const inbox = newInbox()
        const order = { mode: 'fifo', lane: laneOf } as const
        const refuseSome = (id: string) => {
          if (id === 'e2') throw permanent('broken')
        }
        if (kind === 'handlers')
          inbox.on('partner', '*', { order }, ({ payload }) => refuseSome(payload.id))
        else
          inbox.steps('partner', '*', { order }, async ({ payload }, step) => {
            await step.tx('refuse', () => refuseSome(payload.id))
          })
        await inbox.start()
        const ids = await deliver(
          { id: 'e1', lane: 'K' },
          { id: 'e2', lane: 'K' },
          { id: 'e3', lane: 'K' },
        )
        const [e1 = '', e2 = '', e3 = ''] = ids
        await expect.poll(async () => (await find(e2)).state).toBe('dead')
        await expect.poll(async () => (await find(e3)).state).toBe('waiting')
        await inbox.admin.discard(e3, { reason: 'not wanted' })

        for (const [id, state] of [
          [e1, 'done'],
          [e2, 'dead'],
          [e3, 'discarded'],
        ] as const)
          expect((await inbox.admin.show(id))?.event).toMatchObject({ state, lane: 'K' })
      },
    )

    test('O02: that a lane is blocked is told, and that it is free again', async () => {
      const { newInbox, deliver, applied } = await openOrdered(store)
      const inbox = newInbox()
      const told: unknown[] = []
      inbox.events.on('lane.blocked', (about) => told.push(['blocked', about]))
      inbox.events.on('lane.freed', (about) => told.push(['freed', about]))
      inbox.on('partner', '*', FIFO, async (event, { tx }) => {
        if (event.payload.id === 'e1') throw permanent('broken')
        await apply(tx, event)
      })
      await inbox.start()

      const [e1 = ''] = await deliver({ id: 'e1', lane: 'K' }, { id: 'e2', lane: 'K' })
      const about = { source: 'partner', lane: 'K', mode: 'fifo', eventId: e1 }
      await expect.poll(() => told).toEqual([['blocked', about]])
      await inbox.admin.discard(e1, { reason: 'it is broken' })

      await expect.poll(() => applied('K')).toEqual(['e2'])
      await expect
        .poll(() => told)
        .toEqual([
          ['blocked', about],
          ['freed', about],
        ])
    })

    test('O02: a retried dead event keeps its place', async () => {
      const { newInbox, deliver, applied, find } = await openOrdered(store)
      let isBroken = true
      const inbox = newInbox()
      inbox.on('partner', '*', FIFO, async (event, { tx }) => {
        if (event.payload.id === 'e1' && isBroken) throw permanent('broken')
        await apply(tx, event)
      })
      await inbox.start()
      const [e1 = ''] = await deliver({ id: 'e1', lane: 'K' }, { id: 'e2', lane: 'K' })
      await expect.poll(async () => (await find(e1)).state).toBe('dead')
      isBroken = false

      await inbox.admin.retry(e1)
      await deliver({ id: 'e3', lane: 'K' })

      await expect.poll(() => applied('K')).toEqual(['e1', 'e2', 'e3'])
    })

    test('O02: with onDead pass the next one runs', async () => {
      const { newInbox, deliver, applied, find } = await openOrdered(store)
      const inbox = newInbox()
      const order = { ...FIFO.order, onDead: 'pass' } as const
      inbox.on('partner', '*', { order }, async (event, { tx }) => {
        if (event.payload.id === 'e1') throw permanent('broken')
        await apply(tx, event)
      })
      const [e1 = ''] = await deliver({ id: 'e1', lane: 'K' }, { id: 'e2', lane: 'K' })

      await inbox.start()

      await expect.poll(() => applied('K')).toEqual(['e2'])
      expect((await find(e1)).state).toBe('dead')
    })

    test('O02: a dead event that is dead no longer blocks nothing', async () => {
      const { database, newInbox, deliver, applied, find } = await openOrdered(store)
      const inbox = newInbox()
      inbox.on('partner', '*', FIFO, async (event, { tx }) => {
        if (event.payload.id === 'e1') throw permanent('broken')
        await apply(tx, event)
      })
      await inbox.start()
      const [e1 = ''] = await deliver({ id: 'e1', lane: 'K' }, { id: 'e2', lane: 'K' })
      await expect.poll(async () => (await find(e1)).state).toBe('dead')

      await database.query(`update ${outcomes(store)} set state = 'skipped' where event_id = $1`, [
        e1,
      ])

      await expect.poll(() => applied('K')).toEqual(['e2'])
    })

    test('O06: while a long lane waits for its head, all others go on', async () => {
      const { newInbox, deliver, applied, find } = await openOrdered(store)
      const inbox = newInbox({ concurrency: 2 })
      const retry = { firstMs: 3_600_000 }
      inbox.on('partner', '*', { ...FIFO, retry }, async (event, { tx }) => {
        if (event.payload.id === 'hot0') throw new Error('not yet')
        await apply(tx, event)
      })
      const hot = Array.from({ length: 150 }, (_, at) => ({ id: `hot${at}`, lane: 'hot' }))
      const others = Array.from({ length: 50 }, (_, at) => ({ id: `x${at}`, lane: `lane${at}` }))
      const ids = await deliver(...hot, ...others)

      await inbox.start()

      for (const { id, lane } of others) await expect.poll(() => applied(lane)).toEqual([id])
      expect(await applied('hot')).toEqual([])
      expect((await find(ids[149] ?? '')).blockedBy?.eventId).toBe(ids[0])
    })

    test('O06: a lane that is full takes the place of no other', async () => {
      const { newInbox, deliver, applied } = await openOrdered(store)
      const hot = Array.from({ length: 200 }, (_, at) => ({ id: `hot${at}`, lane: 'hot' }))
      const others = Array.from({ length: 20 }, (_, at) => ({ id: `x${at}`, lane: `lane${at}` }))
      await deliver(...hot, ...others)
      // One slot decides the order: of two, one may stand still with the heads that it has claimed.
      const inbox = newInbox({ concurrency: 1, reserved: 0 })
      const ended: string[] = []
      inbox.events.on('event.done', ({ key }) => ended.push(key))
      inbox.on('partner', '*', FIFO, (event, { tx }) => apply(tx, event))

      await inbox.start()

      await expect.poll(() => ended.length).toBe(hot.length + others.length)
      expect(await applied('hot')).toEqual(hot.map(({ id }) => id))
      const last = Math.max(...others.map(({ id }) => ended.indexOf(id)))
      expect(ended).toEqual(expect.arrayContaining(others.map(({ id }) => id)))
      expect(last).toBeLessThan(hot.length / 2)
    })

    test('O07: an event behind a retry names it, and until when', async () => {
      const { newInbox, deliver, find } = await openOrdered(store)
      const inbox = newInbox()
      const retry = { firstMs: 3_600_000 }
      inbox.on('partner', '*', { ...FIFO, retry }, () => {
        throw new Error('in an hour, please')
      })
      const [e1 = '', e2 = ''] = await deliver({ id: 'e1', lane: 'K' }, { id: 'e2', lane: 'K' })

      await inbox.start()

      await expect.poll(async () => (await find(e1)).attempts).toBe(1)
      const until = (await find(e1)).nextRunAt
      await expect
        .poll(async () => (await find(e2)).blockedBy)
        .toEqual({
          eventId: e1,
          state: 'ready',
          until,
          reason: `waiting for ${e1} until ${until?.toISOString()}, when it is due`,
        })
    })

    test('an event whose lane cannot be told is dead at once, and holds up none', async () => {
      const { newInbox, deliver, applied, find } = await openOrdered(store)
      const inbox = newInbox()
      const lane = (event: { payload: { id: string; lane: string } }) => {
        if (event.payload.id === 'e1') throw new Error('no idea')
        return event.payload.id === 'e2' ? '' : event.payload.lane
      }
      inbox.on('partner', '*', { order: { mode: 'fifo', lane } }, (event, { tx }) =>
        apply(tx, event),
      )
      const [e1 = '', e2 = ''] = await deliver(
        { id: 'e1', lane: 'K' },
        { id: 'e2', lane: 'K' },
        { id: 'e3', lane: 'K' },
      )

      await inbox.start()

      await expect.poll(() => applied('K')).toEqual(['e3'])
      const failures = [await find(e1), await find(e2)].map(({ state, failures: [first] }) => ({
        state,
        reason: first?.reason,
        message: first?.message,
      }))
      expect(failures).toEqual([
        { state: 'dead', reason: 'order', message: expect.stringContaining('order.lane threw') },
        { state: 'dead', reason: 'order', message: expect.stringContaining('a text of 0 char') },
      ])
    })

    test('while the lanes of many events are asked for, others of the process go on', async () => {
      const { newInbox, deliver, applied } = await openOrdered(store)
      const inbox = newInbox({ concurrency: 2 })
      const sent = Array.from({ length: 20 }, (_, at) => ({ id: `e${at}`, lane: 'K' }))
      await deliver(...sent)
      let asked = 0
      let rounds = 0
      const ticking = setInterval(() => (rounds += 1), 1)
      onTestFinished(() => clearInterval(ticking))
      const roundsAtEach: number[] = []
      const lane = (event: { payload: { lane: string } }) => {
        asked += 1
        roundsAtEach.push(rounds)
        blockThread(50)
        return event.payload.lane
      }
      inbox.on('partner', '*', { order: { mode: 'fifo', lane } }, (event, { tx }) =>
        apply(tx, event),
      )

      await inbox.start()

      await expect.poll(() => applied('K')).toEqual(sent.map(({ id }) => id))
      expect(asked).toBe(sent.length)
      expect(new Set(roundsAtEach).size).toBeGreaterThan(sent.length / 4)
    })

    test('step handlers have lanes as well', async () => {
      const { newInbox, deliver, applied } = await openOrdered(store)
      const inbox = newInbox()
      let failures = 0
      inbox.steps('partner', '*', FIFO, async (event, step) => {
        await step.call('ask', () => 'yes')
        if (event.payload.id === 'e1' && failures < 2) {
          failures += 1
          throw new Error('not yet')
        }
        await step.tx('apply', (tx) => apply(tx, event))
      })
      const ids = Array.from({ length: 12 }, (_, at) => `e${at + 1}`)
      await deliver(...ids.map((id) => ({ id, lane: 'K' })))

      await inbox.start()

      await expect.poll(() => applied('K')).toEqual(ids)
    })

    test('several workers keep one order', async () => {
      const { newInbox, deliver, applied } = await openOrdered(store)
      const lanes = ['K', 'L', 'M']
      const sent = Array.from({ length: 60 }, (_, at) => ({
        id: `e${at}`,
        lane: lanes[at % 3] as string,
      }))
      const inboxes = [newInbox({ concurrency: 4 }), newInbox({ concurrency: 4 })]
      for (const inbox of inboxes) {
        inbox.on('partner', '*', FIFO, async (event, { tx, attempt }) => {
          if (attempt === 1 && event.payload.id.endsWith('7')) throw new Error('not yet')
          await apply(tx, event)
        })
        await inbox.start()
      }

      await deliver(...sent)

      for (const lane of lanes) {
        const expected = sent.filter((each) => each.lane === lane).map(({ id }) => id)
        await expect.poll(() => applied(lane)).toEqual(expected)
      }
    })

    test('a lane that is paused goes on when it is resumed', async () => {
      const { newInbox, deliver, applied, find } = await openOrdered(store)
      const inbox = newInbox()
      inbox.on('partner', '*', FIFO, (event, { tx }) => apply(tx, event))
      await inbox.start()
      await deliver({ id: 'e1', lane: 'K' })
      await expect.poll(() => applied('K')).toEqual(['e1'])

      const lane = { source: 'partner', key: 'K' }
      const who = { reason: 'the customer is being merged', actor: 'ada' }
      expect(await inbox.admin.pause({ lane }, who)).toEqual({ status: 'done' })
      expect(await inbox.admin.pause({ lane: { ...lane, key: 'unknown' } })).toMatchObject({
        code: 'LANE_UNKNOWN',
      })
      expect(await inbox.admin.listPauses()).toMatchObject([
        { kind: 'lane', source: 'partner', name: 'K', ...who },
      ])
      const [e2 = ''] = await deliver({ id: 'e2', lane: 'K' }, { id: 'x1', lane: 'L' })

      await expect.poll(() => applied('L')).toEqual(['x1'])
      await expect.poll(async () => (await find(e2)).blockedBy?.reason).toBe('its lane is paused')
      expect(await inbox.admin.show(e2)).toMatchObject({
        event: { state: 'waiting', lane: 'K', blockedBy: { reason: 'its lane is paused' } },
      })
      expect((await inbox.admin.list({ lane })).events).toMatchObject([{ id: e2 }])
      expect(await inbox.admin.resume({ lane }, { actor: 'bo' })).toEqual({ status: 'done' })
      await expect.poll(() => applied('K')).toEqual(['e1', 'e2'])
      expect(await inbox.admin.resume({ lane })).toMatchObject({ code: 'NOT_PAUSED' })
      expect(await inbox.admin.listPauses()).toEqual([])
      expect(await inbox.admin.listAudit()).toMatchObject([
        { action: 'resume', subject: { kind: 'lane', id: 'partner/K' }, actor: 'bo' },
        { action: 'pause', subject: { kind: 'lane', id: 'partner/K' }, ...who },
      ])
    })

    test('a lane that is paused keeps what a worker was running that is stopped', async () => {
      const { newInbox, deliver, applied, find } = await openOrdered(store)
      const leaving = newInbox({ stopGraceMs: 0 })
      const begun = new Promise<void>((resolve) => {
        leaving.on('partner', '*', FIFO, async () => {
          resolve()
          await new Promise(() => undefined)
        })
      })
      await leaving.start()
      const [e1 = ''] = await deliver({ id: 'e1', lane: 'K' })
      await begun
      const other = newInbox()
      other.on('partner', '*', FIFO, (event, { tx }) => apply(tx, event))
      const lane = { source: 'partner', key: 'K' }
      expect(await other.admin.pause({ lane })).toEqual({ status: 'done' })

      await leaving.stop()
      await other.start()

      // The other worker has had something else to do since: e1, if anything, was due before it.
      for (const id of ['x1', 'x2', 'x3']) {
        await deliver({ id, lane: 'L' })
        await expect.poll(async () => (await applied('L')).at(-1)).toBe(id)
      }
      expect(await find(e1)).toMatchObject({ state: 'ready', lane: 'K', attempts: 0 })
      expect(await other.admin.resume({ lane })).toEqual({ status: 'done' })
      await expect.poll(() => applied('K')).toEqual(['e1'])
    })
  })
}

function outcomes({ name }: StoreUnderTest): string {
  return name.startsWith('PostgreSQL') ? 'hookonce.outcomes' : 'hookonce_outcomes'
}
