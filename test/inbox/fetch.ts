import { describe, expect, test } from 'vitest'
import { apply, AT_ONCE, laneOf, openOrdered } from '../support/ordered-inbox.ts'
import type { StoreUnderTest } from '../support/store-under-test.ts'

/** What `fetch` promises, on every store. */
export function fetchContract(store: StoreUnderTest): void {
  describe(`${store.name}: fetch`, () => {
    test('the handler gets what was fetched before its transaction opened', async () => {
      const { newInbox, deliver, applied, find, store: own } = await openOrdered(store)
      const inbox = newInbox()
      const seen: unknown[] = []
      const fetch = async (event: { id: string }, { signal }: { signal: AbortSignal }) => {
        // While a transaction of the handler were open, SQLite could not write beside it.
        await own.events.nudge(event.id)
        return { name: 'Ada', aborted: signal.aborted }
      }
      inbox.on('partner', '*', { fetch }, async (event, { tx, fetched }) => {
        seen.push(fetched.name, fetched.aborted)
        await apply(tx, event)
      })
      await inbox.start()

      const [id = ''] = await deliver({ id: 'e1', lane: 'K' })

      await expect.poll(async () => (await find(id)).state).toBe('done')
      expect(seen).toEqual(['Ada', false])
      expect(await applied('K')).toEqual(['e1'])
    })

    test('a fetch that fails is a failed attempt', async () => {
      const { newInbox, deliver, applied, find } = await openOrdered(store)
      const inbox = newInbox()
      let tries = 0
      const fetch = () => {
        tries += 1
        if (tries < 3) throw new Error('503')
        return tries
      }
      inbox.on('partner', '*', { fetch, retry: AT_ONCE }, async (event, { tx, fetched }) => {
        expect(fetched).toBe(3)
        await apply(tx, event)
      })
      await inbox.start()

      const [id = ''] = await deliver({ id: 'e1', lane: 'K' })

      await expect.poll(() => applied('K')).toEqual(['e1'])
      expect((await find(id)).failures.map(({ message }) => message)).toEqual(['503', '503'])
    })

    test('a fetch that hangs ends with the time of its handler', async () => {
      const { newInbox, deliver, find } = await openOrdered(store)
      const inbox = newInbox()
      const signals: AbortSignal[] = []
      const fetch = (_event: unknown, { signal }: { signal: AbortSignal }) => {
        signals.push(signal)
        return new Promise(() => {})
      }
      const retry = { attemptsMax: 1 }
      inbox.on('partner', '*', { fetch, timeoutMs: 50, retry }, () => undefined)
      await inbox.start()

      const [id = ''] = await deliver({ id: 'e1', lane: 'K' })

      await expect.poll(async () => (await find(id)).state).toBe('dead')
      expect((await find(id)).failures.map(({ reason }) => reason)).toEqual(['timeout'])
      expect(signals.map(({ aborted }) => aborted)).toEqual([true])
    })

    test('a handler that hangs behind its fetch is told by its signal when its time is up', async () => {
      const { newInbox, deliver, find } = await openOrdered(store)
      const inbox = newInbox()
      const aborted: string[] = []
      const options = { fetch: () => 1, timeoutMs: 300, retry: { attemptsMax: 1 } }
      const hang = (name: string, signal: AbortSignal) =>
        new Promise<void>(() => signal.addEventListener('abort', () => aborted.push(name)))
      inbox.on('partner', 'tx', { ...options, name: 'tx' }, (_event, { signal }) =>
        hang('tx', signal),
      )
      const twice = { ...options, guarantee: 'at-least-once', name: 'twice' } as const
      inbox.on('partner', 'twice', twice, (_event, { signal }) => hang('twice', signal))
      await inbox.start()

      const ids = await deliver(
        { id: 'e1', lane: 'K', type: 'tx' },
        { id: 'e2', lane: 'K', type: 'twice' },
      )

      for (const id of ids) await expect.poll(async () => (await find(id)).state).toBe('dead')
      expect(aborted.toSorted()).toEqual(['twice', 'tx'])
    })

    test('step handlers can fetch, and a lane keeps its order', async () => {
      const { newInbox, deliver, applied } = await openOrdered(store)
      const inbox = newInbox()
      const order = { mode: 'fifo', lane: laneOf } as const
      const fetch = (event: { key: string }) => Promise.resolve(event.key)
      inbox.steps('partner', 'a', { fetch, order, name: 'a' }, async (event, step) => {
        expect(step.fetched).toBe(event.key)
        await step.tx('apply', (tx) => apply(tx, event))
      })
      inbox.on('partner', 'b', { fetch, order, name: 'b' }, async (event, { tx, fetched }) => {
        expect(fetched).toBe(event.key)
        await apply(tx, event)
      })
      await inbox.start()
      const ids = Array.from({ length: 10 }, (_, at) => `e${at}`)

      await deliver(...ids.map((id, at) => ({ id, lane: 'K', type: at % 3 === 0 ? 'a' : 'b' })))

      await expect.poll(() => applied('K')).toEqual(ids)
    })
  })
}
