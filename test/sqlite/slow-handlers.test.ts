/** Handlers that take longer than others wait for the writer: `writeWaitMs` is small here, and they take ten of it. */

import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { openInbox, untilDone } from '../support/inbox-under-test.ts'
import type { InboxUnderTest } from '../support/inbox-under-test.ts'
import { DEFAULT_DRIVER, sqliteUnderTest } from '../support/sqlite-under-test.ts'

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
      crashes: 0,
      failures: [],
    })
  }
}
