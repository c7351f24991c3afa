import { describe, expect, test } from 'vitest'
import { permanent } from '../../src/index.ts'
import { openInbox, untilDone } from '../support/inbox-under-test.ts'
import type { StoreUnderTest } from '../support/store-under-test.ts'

const LENIENT = { guarantee: 'at-least-once', timeoutMs: 600_000 } as const

/** What every inbox must do with handlers that run side by side, when it is stopped and one of them does not end. */
export function interruptedNeighboursContract(underTest: StoreUnderTest): void {
  describe(`${underTest.name}: a stop beside an at-least-once handler that does not end`, () => {
    test('H44: what has ended is settled, and the next worker runs only the other', async () => {
      const { inbox, another, deliver, store } = await openInbox(underTest, {
        // One slot, so that all of them are in one group.
        worker: { concurrency: 1, reserved: 0, stopGraceMs: 0 },
      })
      const calls: string[] = []
      const allCalled = new Promise<void>((resolve) => {
        inbox.on('stripe', 'invoice.paid', LENIENT, async ({ key }, { signal }) => {
          calls.push(key)
          if (calls.length === 3) resolve()
          if (key === 'evt_hangs') await untilAborted(signal)
          if (key === 'evt_bad') throw permanent('a bug')
        })
      })
      const givenBack: number[] = []
      inbox.events.on('group.given-back', ({ size }) => givenBack.push(size))
      for (const key of ['evt_good', 'evt_hangs', 'evt_bad']) await deliver(key)
      const find = async (key: string) => {
        const [event] = await store.operators.listEventsByKey('stripe', key)
        return { state: event?.state, attempts: event?.attempts }
      }

      await inbox.start()
      await allCalled
      await inbox.stop()

      expect(await find('evt_good')).toEqual({ state: 'done', attempts: 1 })
      expect(await find('evt_bad')).toEqual({ state: 'dead', attempts: 1 })
      expect(await find('evt_hangs')).toEqual({ state: 'ready', attempts: 0 })
      expect(givenBack).toEqual([1])
      const next = another()
      next.on('stripe', 'invoice.paid', LENIENT, ({ key }) => void calls.push(key))
      const done = untilDone(next, 1)
      await next.start()
      await done
      await next.stop()
      expect(calls.toSorted()).toEqual(['evt_bad', 'evt_good', 'evt_hangs', 'evt_hangs'])
    })
  })
}

function untilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error))
  })
}
