/** Handlers that take longer than others wait for the writer: `writeWaitMs` is small here, and they take ten of it. */

import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { aSignal } from '../../support/a-signal.ts'
import { openInbox, untilDone } from '../../support/inbox-under-test.ts'
import type { InboxUnderTest } from '../../support/inbox-under-test.ts'
import { DEFAULT_DRIVER, sqliteUnderTest } from '../../support/sqlite-under-test.ts'

const WRITE_WAIT_MS = 30
const SLOW_MS = 10 * WRITE_WAIT_MS
const underTest = sqliteUnderTest(DEFAULT_DRIVER, { writeWaitMs: WRITE_WAIT_MS })

describe('sqlite: a handler that is slower than others wait', () => {
  test.each(['before it writes', 'after it has written'])(
    'H23: is done at its first attempt while another event waits, slow %s',
    async (when) => {
      const { inbox, countEffects, ...rest } = await openInbox(underTest)
      const runs: string[] = []
      inbox.on('stripe', 'invoice.paid', { groupMax: 1 }, async (event, { tx }) => {
        runs.push(event.key)
        if (when === 'before it writes') await sleep(SLOW_MS)
        await tx.query('insert into effects (event_key) values ($1)', [event.key])
        if (when === 'after it has written') await sleep(SLOW_MS)
      })

      await runAll({ inbox, ...rest }, ['evt_1', 'evt_2'])

      expect(runs.toSorted()).toEqual(['evt_1', 'evt_2'])
      expect([await countEffects('evt_1'), await countEffects('evt_2')]).toEqual([1, 1])
      await expectUnharmed(inbox, ['evt_1', 'evt_2'])
    },
  )

  test('H23: an at-least-once one calls outside once, also when it is in a group', async () => {
    const { inbox, ...rest } = await openInbox(underTest)
    const calls: string[] = []
    inbox.on('stripe', 'invoice.paid', { guarantee: 'at-least-once' }, async (event) => {
      calls.push(event.key)
      await sleep(SLOW_MS)
    })
    const keys = ['evt_1', 'evt_2', 'evt_3']

    await runAll({ inbox, ...rest }, keys)

    expect(calls.toSorted()).toEqual(keys)
    await expectUnharmed(inbox, keys)
  })

  test('H23: ten of them are ten runs', async () => {
    const { inbox, countEffects, ...rest } = await openInbox(underTest)
    let runs = 0
    inbox.on('stripe', 'invoice.paid', { groupMax: 1 }, async (event, { tx }) => {
      runs += 1
      await tx.query('insert into effects (event_key) values ($1)', [event.key])
      await sleep(SLOW_MS / 2)
    })
    const keys = Array.from({ length: 10 }, (_, n) => `evt_${n}`)

    await runAll({ inbox, ...rest }, keys)

    expect(runs).toBe(10)
    expect(await countEffects()).toBe(10)
    await expectUnharmed(inbox, keys)
  })
})

describe('sqlite: a handler that hangs before it writes', () => {
  test('H25: keeps no other slot from running, and deliveries are taken meanwhile', async () => {
    const { inbox, deliver, countEffects } = await openInbox(sqliteUnderTest(DEFAULT_DRIVER))
    const begun = aSignal()
    const released = aSignal()
    inbox.on('stripe', 'invoice.*', async (event, { tx }) => {
      if (event.key === 'evt_hangs') {
        begun.give()
        await released.given
      }
      await tx.query('insert into effects (event_key) values ($1)', [event.key])
    })
    await inbox.start()
    await deliver('evt_hangs')
    await begun.given
    const good = Array.from({ length: 50 }, (_, n) => `evt_${n}`)

    const done = untilDone(inbox, good.length)
    await Promise.all(good.map((key) => deliver(key)))
    await done

    expect(await countEffects()).toBe(good.length)
    expect(await countEffects('evt_hangs')).toBe(0)
    const last = untilDone(inbox, 1)
    released.give()
    await last
    await expectUnharmed(inbox, ['evt_hangs', ...good])
    expect(await countEffects('evt_hangs')).toBe(1)
  })

  test('H25: at-least-once ones of a group keep no other slot from running, and call once', async () => {
    const { inbox, deliver, countEffects } = await openInbox(sqliteUnderTest(DEFAULT_DRIVER))
    const calls: string[] = []
    const begun = aSignal()
    const released = aSignal()
    inbox.on('stripe', 'charge.failed', { guarantee: 'at-least-once' }, async (event) => {
      calls.push(event.key)
      if (calls.length === 2) begun.give()
      await released.given
    })
    inbox.on('stripe', 'invoice.paid', async (event, { tx }) => {
      await tx.query('insert into effects (event_key) values ($1)', [event.key])
    })
    for (const key of ['evt_a', 'evt_b']) await deliver(key, { type: 'charge.failed' })
    await inbox.start()
    await begun.given
    const good = Array.from({ length: 20 }, (_, n) => `evt_${n}`)

    const done = untilDone(inbox, good.length)
    await Promise.all(good.map((key) => deliver(key)))
    await done
    const last = untilDone(inbox, 2)
    released.give()
    await last

    expect(calls.toSorted()).toEqual(['evt_a', 'evt_b'])
    expect(await countEffects()).toBe(good.length)
    await expectUnharmed(inbox, ['evt_a', 'evt_b', ...good])
  })

  test('H25: is failed by its own time-out, and runs again', async () => {
    const { inbox, deliver, next, countEffects } = await openInbox(sqliteUnderTest(DEFAULT_DRIVER))
    const options = { timeoutMs: 50, retry: { firstMs: 0 } }
    inbox.on('stripe', 'invoice.paid', options, async (event, { tx, attempt, signal }) => {
      if (attempt === 1) {
        await new Promise((_resolve, reject) =>
          signal.addEventListener('abort', () => reject(signal.reason as Error)),
        )
      }
      await tx.query('insert into effects (event_key) values ($1)', [event.key])
    })
    await inbox.start()
    const done = next('event.done')

    const { eventId = '' } = await deliver('evt_1')
    await done

    expect(await inbox.admin.findEvent(eventId)).toMatchObject({
      state: 'done',
      failures: [{ attempt: 1, reason: 'timeout' }],
    })
    expect(await countEffects('evt_1')).toBe(1)
  })

  test('H25: the wait for the writer is not its own time', async () => {
    const { inbox, countEffects, ...rest } = await openInbox(sqliteUnderTest(DEFAULT_DRIVER))
    const timeoutMs = 1_000
    const begun = aSignal()
    const held = aSignal()
    inbox.on('stripe', 'invoice.paid', { groupMax: 1 }, async (event, { tx }) => {
      await begun.given
      await tx.query('insert into effects (event_key) values ($1)', [event.key])
      held.give()
      await sleep(2 * timeoutMs)
    })
    inbox.on('stripe', 'charge.failed', { timeoutMs }, async (event, { tx }) => {
      begun.give()
      await held.given
      await tx.query('insert into effects (event_key) values ($1)', [event.key])
    })
    const done = untilDone(inbox, 2)
    await rest.deliver('evt_slow')
    await rest.deliver('evt_waits', { type: 'charge.failed' })

    await inbox.start()
    await done

    expect(await countEffects()).toBe(2)
    await expectUnharmed(inbox, ['evt_slow', 'evt_waits'])
  })
})

type Running = Pick<InboxUnderTest, 'inbox' | 'deliver'>

/** Delivered before the worker starts: a delivery would wait for the writer as well. */
async function runAll({ inbox, deliver }: Running, keys: readonly string[]): Promise<void> {
  const failed: string[] = []
  inbox.events.on('event.dead', ({ key, reason }) => failed.push(`${key}: ${reason}`))
  const done = untilDone(inbox, keys.length)
  for (const key of keys) await deliver(key)
  await inbox.start()
  await Promise.race([done, untilDead(inbox)])
  expect(failed).toEqual([])
}

function untilDead(inbox: InboxUnderTest['inbox']): Promise<void> {
  return new Promise((resolve) => inbox.events.on('event.dead', () => resolve()))
}

async function expectUnharmed(
  inbox: InboxUnderTest['inbox'],
  keys: readonly string[],
): Promise<void> {
  for (const key of keys) {
    const [event] = await inbox.admin.listEventsByKey('stripe', key)
    expect(event).toMatchObject({
      state: 'done',
      outcome: { attempts: 1 },
      failures: [],
    })
  }
}
