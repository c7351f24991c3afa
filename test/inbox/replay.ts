import { describe, expect, test } from 'vitest'
import { destination } from '../../src/outbox/destination.ts'
import { permanent } from '../../src/model/handler-results.ts'
import { aSignal } from '../support/a-signal.ts'
import { openInbox } from '../support/inbox-under-test.ts'
import { limitsIn, pruneRows } from '../support/retention-steps.ts'
import { WRITE } from '../support/step-handlers.ts'
import type { StoreUnderTest } from '../support/store-under-test.ts'

const WHY = { reason: 'the rows were lost', actor: 'ada' }

const ADVICE =
  /^Forget it: forget\(id\)\. .* deliver it again.* replay\(id, \{ reason, body \}\)\.$/

/** What handlers see of a replay and of a release. Run by `test/inbox/<store>.test.ts`. */
export function replayContract(store: StoreUnderTest): void {
  describe(`${store.name}: a replay`, () => {
    test('Y01: of a done event runs it once more, and a retry of it stays refused', async () => {
      const { inbox, deliverUntil, next, countEffects } = await openInbox(store)
      const seen: unknown[] = []
      inbox.on('stripe', 'invoice.paid', async (event, { tx, run, isReplay, idempotencyKey }) => {
        seen.push({ id: event.id, run, isReplay, key: idempotencyKey('charge') })
        await tx.query(WRITE, [event.key, `run ${run}`])
      })
      await inbox.start()
      const { eventId } = await deliverUntil('evt_1', 'event.done')

      expect(await inbox.admin.retry(eventId)).toMatchObject({ code: 'EVENT_DONE' })
      for (const freshKeys of [false, true]) {
        const done = next('event.done')
        await inbox.admin.replay(eventId, { ...WHY, freshKeys })
        await done
      }

      expect(await countEffects('evt_1')).toBe(3)
      const [first, second, third] = seen as { key: string }[]
      expect(seen).toMatchObject([
        { id: eventId, run: 0, isReplay: false },
        { id: eventId, run: 1, isReplay: true },
        { id: eventId, run: 2, isReplay: true },
      ])
      expect(second?.key).toBe(first?.key)
      expect(third?.key).not.toBe(first?.key)
      expect(await inbox.admin.listAudit({ eventId })).toMatchObject([
        { action: 'replay', ...WHY, outcome: { run: 2 } },
        { action: 'replay', ...WHY, outcome: { run: 1 } },
      ])
    })

    test('Y08: with an edited body hands that to the handler, and says that it is modified', async () => {
      const { inbox, deliverUntil, next } = await openInbox(store)
      const seen: unknown[] = []
      inbox.on('stripe', 'invoice.paid', (event) => {
        seen.push([event.isModified, event.payload])
      })
      await inbox.start()
      const { eventId } = await deliverUntil('evt_1', 'event.done')
      const done = next('event.done')

      await inbox.admin.replay(eventId, { ...WHY, body: '{"fixed":true}' })
      await done

      expect(seen).toMatchObject([
        [false, { id: 'evt_1' }],
        [true, { fixed: true }],
      ])
      const kept = await inbox.admin.findEvent(eventId)
      expect(Buffer.from(kept?.body ?? []).toString()).toContain('"evt_1"')
      const [run] = await inbox.admin.listRuns(eventId)
      expect(Buffer.from(run?.body ?? []).toString()).toBe('{"fixed":true}')
    })

    test('sends its messages under the same keys, so that none is sent twice unless fresh keys are asked for', async () => {
      const sent: string[] = []
      const partner = destination('partner', ({ key }) => {
        sent.push(key)
      })
      const { inbox, deliverUntil, next } = await openInbox(store, { destinations: [partner] })
      inbox.on('stripe', 'invoice.paid', async (_event, { send }) => {
        await send('partner', { paid: true })
      })
      await inbox.start()
      const firstSent = next('message.sent')
      const { eventId } = await deliverUntil('evt_1', 'event.done')
      await firstSent

      const replayed = next('event.done')
      await inbox.admin.replay(eventId, WHY)
      await replayed
      const freshSent = next('message.sent')
      await inbox.admin.replay(eventId, { ...WHY, freshKeys: true })
      await freshSent

      expect(sent).toHaveLength(2)
      expect(new Set(sent).size).toBe(2)
    })

    test('takes the steps of a step handler anew under the same keys, and shows the results of both runs', async () => {
      const { inbox, deliverUntil, next } = await openInbox(store)
      const calls: unknown[] = []
      inbox.steps('stripe', 'invoice.paid', async (_event, step) => {
        await step.call('charge', ({ idempotencyKey }) => {
          calls.push([step.run, step.isReplay, idempotencyKey])
          return `receipt ${calls.length}`
        })
      })
      await inbox.start()
      const { eventId } = await deliverUntil('evt_1', 'event.done')
      const done = next('event.done')

      await inbox.admin.replay(eventId, WHY)
      await done

      const [first, second] = calls as [unknown[], unknown[]]
      expect(first.slice(0, 2)).toEqual([0, false])
      expect(second.slice(0, 2)).toEqual([1, true])
      expect(second[2]).toBe(first[2])
      expect(calls).toHaveLength(2)
      const kept = (nth: number) => ({ name: 'charge', result: `"receipt ${nth}"` })
      expect((await inbox.admin.show(eventId))?.runs).toMatchObject([
        { run: 0, replay: undefined, steps: [kept(1)] },
        { run: 1, replay: WHY, steps: [kept(2)] },
      ])
    })

    test('Y03: of an event that is not at its end is refused with what to do', async () => {
      const { inbox, deliver, deliverUntil } = await openInbox(store)
      inbox.on('stripe', 'invoice.paid', () => {
        throw permanent('a bug')
      })
      const { eventId } = await deliver('evt_0')
      expect(await inbox.admin.replay(eventId as string, WHY)).toMatchObject({
        code: 'EVENT_READY',
        instead: expect.stringContaining('discard'),
      })
      await inbox.start()
      const dead = await deliverUntil('evt_1', 'event.dead')

      expect(await inbox.admin.replay(dead.eventId, WHY)).toMatchObject({
        code: 'EVENT_DEAD',
        instead: expect.stringContaining('Retry'),
      })
    })
  })

  describe(`${store.name}: a replay of what runs`, () => {
    test('Y03: is refused while a plain handler has the event, and it runs on', async () => {
      const { inbox, deliver, next, countEffects } = await openInbox(store)
      const entered = aSignal()
      const released = aSignal()
      inbox.on('stripe', 'invoice.paid', async (event, { tx }) => {
        entered.give()
        await released.given
        await tx.query(WRITE, [event.key, 'ran'])
      })
      await inbox.start()
      const ended = next('event.done')
      const { eventId = '' } = await deliver('evt_1')
      await entered.given

      expect(await inbox.admin.replay(eventId, WHY)).toMatchObject({
        status: 'refused',
        code: 'EVENT_RUNNING',
      })
      released.give()
      await ended

      expect((await inbox.admin.show(eventId))?.runs).toMatchObject([
        { outcome: { state: 'done' } },
      ])
      expect(await countEffects()).toBe(1)
    })

    test('Y03: is refused between two steps, and these go on', async () => {
      const { inbox, deliver, next, countEffects } = await openInbox(store)
      const entered = aSignal()
      const released = aSignal()
      inbox.steps('stripe', 'invoice.paid', async (event, step) => {
        await step.tx('first', async (tx) => {
          await tx.query(WRITE, [event.key, 'first'])
        })
        entered.give()
        await released.given
        await step.tx('second', async (tx) => {
          await tx.query(WRITE, [event.key, 'second'])
        })
      })
      await inbox.start()
      const ended = next('event.done')
      const { eventId = '' } = await deliver('evt_1')
      await entered.given

      expect(await inbox.admin.replay(eventId, WHY)).toMatchObject({
        status: 'refused',
        code: 'EVENT_RUNNING',
      })
      released.give()
      await ended

      expect((await inbox.admin.show(eventId))?.runs).toMatchObject([
        { outcome: { state: 'done' } },
      ])
      expect(await countEffects()).toBe(2)
    })
  })

  describe(`${store.name}: a replay that is refused`, () => {
    test('Y06: is one of an event whose bytes were erased, or whose payload is past its time', async () => {
      const { inbox, deliverUntil, countEffects, store: own } = await openInbox(store)
      inbox.on('stripe', 'invoice.paid', (event, { tx }) => tx.query(WRITE, [event.key, 'ran']))
      await inbox.start()
      const erased = await deliverUntil('evt_1', 'event.done')
      await inbox.admin.erase(erased.eventId, { reason: 'asked for' })
      expect(await inbox.admin.replay(erased.eventId, WHY)).toMatchObject({
        status: 'refused',
        code: 'PAYLOAD_ERASED',
        reason: expect.stringMatching(/^Payload erased on \d{4}-\d{2}-\d{2}T[\d:.]+Z\.$/) as string,
      })
      const pruned = await deliverUntil('evt_2', 'event.done')
      await pruneRows(own, limitsIn(31))
      expect(await inbox.admin.findEvent(pruned.eventId)).toMatchObject({ payload: 'pruned' })

      expect(await inbox.admin.replay(pruned.eventId, WHY)).toMatchObject({
        status: 'refused',
        code: 'PAYLOAD_PRUNED',
      })
      expect(await countEffects()).toBe(2)
    })

    test('of an erased event says what brings it back: a delivery after it was forgotten, or a body', async () => {
      const { inbox, deliver, deliverUntil, next, countEffects } = await openInbox(store, {
        receive: { rememberMax: 0 },
      })
      inbox.on('stripe', 'invoice.paid', (event, { tx }) => tx.query(WRITE, [event.key, 'ran']))
      await inbox.start()
      const { eventId } = await deliverUntil('evt_1', 'event.done')
      await inbox.admin.erase(eventId, { reason: 'asked for' })
      const refused = await inbox.admin.replay(eventId, WHY)
      expect(refused).toMatchObject({ instead: expect.stringMatching(ADVICE) as string })

      // By itself a delivery brings nothing back: the key is still known.
      expect(await deliver('evt_1')).toMatchObject({ outcome: 'duplicate', eventId })
      const replayed = next('event.done')
      const given = await inbox.admin.replay(eventId, { ...WHY, body: '{"given":"by hand"}' })
      expect(given).toMatchObject({ status: 'done', state: 'ready' })
      await replayed
      expect(await countEffects()).toBe(2)

      expect(await inbox.admin.forget(eventId, WHY)).toMatchObject({ status: 'done' })
      const redelivered = next('event.done')
      const again = await deliver('evt_1')
      await redelivered
      expect(again).toMatchObject({ outcome: 'accepted' })
      expect(again.eventId).not.toBe(eventId)
      expect(await countEffects()).toBe(3)
    })

    test('Y07: is one of a conflict or of what is quarantined, which are released, with a row in the audit', async () => {
      const { inbox, deliver, deliverUntil, next } = await openInbox(store)
      inbox.on('stripe', 'invoice.paid', () => undefined)
      await inbox.start()
      await deliverUntil('evt_1', 'event.done')
      const conflict = await deliver('evt_1', { amount: 2 })
      const eventId = conflict.eventId ?? ''

      expect(await inbox.admin.replay(eventId, WHY)).toMatchObject({
        status: 'refused',
        code: 'EVENT_CONFLICT',
        instead: expect.stringMatching(/release/i),
      })
      expect(await inbox.admin.listAudit({ eventId })).toEqual([])
      const done = next('event.done')
      await inbox.admin.release(eventId, WHY)
      await done
      expect(await inbox.admin.listAudit({ eventId })).toMatchObject([
        { action: 'release', ...WHY },
      ])
    })
  })

  describe(`${store.name}: a release`, () => {
    test('R21: of a conflict runs it through its handlers, and its outside calls have keys of their own', async () => {
      const { inbox, deliver, deliverUntil, next, countEffects } = await openInbox(store)
      const keys: string[] = []
      inbox.on('stripe', 'invoice.paid', async (event, { tx, idempotencyKey }) => {
        keys.push(idempotencyKey('charge'))
        await tx.query(WRITE, [event.key, 'charged'])
      })
      await inbox.start()
      await deliverUntil('evt_1', 'event.done')
      const conflict = await deliver('evt_1', { amount: 2 })
      const eventId = conflict.eventId as string
      expect(await inbox.admin.findEvent(eventId)).toMatchObject({ state: 'conflict' })
      const done = next('event.done')

      expect(await inbox.admin.release(eventId, { reason: 'a correction' })).toEqual({
        status: 'done',
        eventId,
        run: 0,
        state: 'ready',
      })
      await done

      expect(await countEffects('evt_1')).toBe(2)
      expect(new Set(keys).size).toBe(2)
      expect((await deliver('evt_1', { amount: 2 })).outcome).toBe('duplicate')
    })

    test('of an event without a handler is refused: a handler runs it, or it is discarded', async () => {
      const { inbox, deliver, next } = await openInbox(store)
      inbox.on('stripe', 'other.type', () => undefined)
      const unhandled = next('event.unhandled')
      await inbox.start()
      await deliver('evt_1')
      const { eventId } = await unhandled

      expect(await inbox.admin.release(eventId, WHY)).toMatchObject({ code: 'EVENT_UNHANDLED' })
      expect(await inbox.admin.discard(eventId, WHY)).toMatchObject({ state: 'discarded' })
    })
  })
}
