import { describe, expect, test } from 'vitest'
import { permanent } from '../../src/model/handler-results.ts'
import type { WebhookEvent } from '../../src/model/event.ts'
import type { OrderOptions } from '../../src/ordering/order.ts'
import { apply, laneOf, openOrdered } from '../support/ordered-inbox.ts'
import type { OrderedInbox, OrderedSetup, Sent } from '../support/ordered-inbox.ts'
import type { StoreUnderTest } from '../support/store-under-test.ts'

const HOUR_MS = 3_600_000
const WHY = { reason: 'its rows were lost' }
const LATEST = { mode: 'latest', lane: laneOf } as const
const FIFO = { mode: 'fifo', lane: laneOf } as const
const SEQUENCE = { mode: 'sequence', lane: laneOf, gapMs: HOUR_MS, onGap: 'run' } as const
const AFTER = {
  mode: 'after',
  lane: laneOf,
  requires: 'user.created',
  waitMs: HOUR_MS,
  onMissing: 'run',
} as const

type Applies = (inbox: OrderedInbox, types: string, order?: OrderOptions<Sent>) => void
/** What no handler takes on its first run. */
const failing = new Set<string>()

const HANDLERS: readonly (readonly [string, Applies])[] = [
  [
    'handlers',
    (inbox, types, order) =>
      inbox.on('partner', types, order === undefined ? {} : { order }, (event, { tx, run }) => {
        refuseSome(event, run)
        return apply(tx, event)
      }),
  ],
  [
    'step handlers',
    (inbox, types, order) =>
      inbox.steps('partner', types, order === undefined ? {} : { order }, async (event, step) => {
        refuseSome(event, step.run)
        await step.tx('apply', (tx) => apply(tx, event))
      }),
  ],
]

function refuseSome({ payload }: WebhookEvent<Sent>, run: number): void {
  if (run === 0 && failing.has(payload.id)) throw permanent('a bug')
}

/** What a replay does in a lane, in each mode. Run by `test/inbox/ordering-<store>.test.ts`. */
export function replayOrderedContract(store: StoreUnderTest): void {
  describe.each(HANDLERS)(`${store.name}: a replay in a lane of %s`, (_, applies) => {
    test('latest: is refused where a later version was applied, and what was done stays done', async () => {
      const { deliver, applied, find, inbox } = await open(store, (one) =>
        applies(one, '*', LATEST),
      )
      await inbox.start()
      const [v7 = ''] = await deliver({ id: 'v7', lane: 'K', n: 7 })
      await expect.poll(async () => (await find(v7)).state).toBe('done')
      const [v9 = ''] = await deliver({ id: 'v9', lane: 'K', n: 9 })
      await expect.poll(async () => (await find(v9)).state).toBe('done')
      const [v8 = ''] = await deliver({ id: 'v8', lane: 'K', n: 8 })
      await expect.poll(async () => (await find(v8)).state).toBe('skipped')

      for (const [older, version] of [
        [v7, 7],
        [v8, 8],
      ] as const)
        expect(await inbox.admin.replay(older, WHY)).toEqual({
          status: 'refused',
          code: 'EVENT_STALE',
          reason: `The event is stale: its version ${version} is older than 9, which event ${v9} has applied in its lane.`,
          instead: `Replay event ${v9}. An older state must not be written over a newer one.`,
        })
      expect((await find(v7)).state).toBe('done')
      expect(await inbox.admin.replay(v9, WHY)).toMatchObject({ status: 'done', run: 1 })
      await expect.poll(() => applied('K')).toEqual(['v7', 'v9', 'v9'])
    })

    test('latest: is dead, and not skipped, where a later version was faster', async () => {
      const { deliver, applied, find, newInbox, inbox } = await open(store, (one) =>
        applies(one, '*', LATEST),
      )
      await inbox.start()
      const [v7 = ''] = await deliver({ id: 'v7', lane: 'K', n: 7 })
      await expect.poll(async () => (await find(v7)).state).toBe('done')
      await inbox.stop()
      const operator = newInbox(false)
      expect(await operator.admin.replay(v7, WHY)).toMatchObject({ status: 'done' })
      await deliver({ id: 'v9', lane: 'K', n: 9 })
      const next = newInbox()
      applies(next, '*', LATEST)

      await next.start()

      await expect.poll(async () => (await find(v7)).state).toBe('dead')
      expect((await find(v7)).reason).toBe(
        'stale: its version 7 is older than 9, which was applied: the replay came too late, discard it',
      )
      expect(await applied('K')).toEqual(['v7', 'v9'])
    })

    test('fifo: runs in its place, before what waits, and is not held up by what came after it', async () => {
      const { deliver, applied, find, inbox, newInbox } = await open(store, (one) =>
        applies(one, '*', FIFO),
      )
      failing.add('b')
      await inbox.start()
      const [a = '', b = '', c = ''] = await deliver(
        { id: 'a', lane: 'K' },
        { id: 'b', lane: 'K' },
        { id: 'c', lane: 'K' },
      )
      await expect.poll(async () => (await find(b)).state).toBe('dead')
      await expect.poll(async () => (await find(c)).state).toBe('waiting')

      await inbox.admin.replay(a, WHY)

      await expect.poll(() => applied('K')).toEqual(['a', 'a'])
      expect((await find(c)).state).toBe('waiting')
      await inbox.admin.discard(b, WHY)
      await expect.poll(async () => (await find(c)).state).toBe('done')
      await inbox.stop()
      const operator = newInbox(false)
      await deliver({ id: 'd', lane: 'K' })
      expect(await operator.admin.replay(a, WHY)).toMatchObject({ status: 'done', run: 2 })
      const next = newInbox()
      applies(next, '*', FIFO)
      await next.start()
      await expect.poll(() => applied('K')).toEqual(['a', 'a', 'c', 'a', 'd'])
    })

    test('sequence: runs at once, and the lane goes on where it was', async () => {
      const { deliver, applied, find, inbox } = await open(store, (one) =>
        applies(one, '*', SEQUENCE),
      )
      await inbox.start()
      const [e1 = '', e2 = ''] = await deliver(
        { id: 'e1', lane: 'K', n: 1 },
        { id: 'e2', lane: 'K', n: 2 },
      )
      await expect.poll(async () => (await find(e2)).state).toBe('done')
      await deliver({ id: 'e4', lane: 'K', n: 4 })

      await inbox.admin.replay(e1, WHY)

      await expect.poll(() => applied('K')).toEqual(['e1', 'e2', 'e1'])
      await deliver({ id: 'e3', lane: 'K', n: 3 })
      await expect.poll(() => applied('K')).toEqual(['e1', 'e2', 'e1', 'e3', 'e4'])
    })

    test('after: runs at once, since what it requires was done', async () => {
      const { deliver, applied, find, inbox } = await open(store, (one) => {
        applies(one, 'user.created')
        applies(one, 'user.updated', AFTER)
      })
      await inbox.start()
      const [created = '', updated = ''] = await deliver(
        { id: 'created', lane: 'K', type: 'user.created' },
        { id: 'updated', lane: 'K', type: 'user.updated' },
      )
      await expect.poll(async () => (await find(updated)).state).toBe('done')

      await inbox.admin.replay(updated, WHY)
      await expect.poll(() => applied('K')).toEqual(['created', 'updated', 'updated'])

      await inbox.admin.replay(created, WHY)
      await expect.poll(() => applied('K')).toEqual(['created', 'updated', 'updated', 'created'])
    })
  })
}

async function open(
  store: StoreUnderTest,
  register: (inbox: OrderedInbox) => void,
): Promise<OrderedSetup & { readonly inbox: OrderedInbox }> {
  const opened = await openOrdered(store)
  const inbox = opened.newInbox()
  register(inbox)
  return { ...opened, inbox }
}
