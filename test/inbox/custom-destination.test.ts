import { describe, expect, test } from 'vitest'
import { permanent, retryAfter } from '../../src/index.ts'
import { destination } from '../../src/outbox/destination.ts'
import type { SendFunction } from '../../src/outbox/destination.ts'
import type { DestinationOptions } from '../../src/outbox/options.ts'
import { AT_ONCE, openOutbox } from '../support/faults/outbox-under-fault.ts'
import { until } from '../support/faults/until.ts'

async function relayTo(send: SendFunction, options: DestinationOptions = {}, messages = 1) {
  const outbox = await openOutbox('sqlite')
  await outbox.write(messages)
  const relay = await outbox.relay([destination('sink', { retry: AT_ONCE, ...options }, send)], {
    stopGraceMs: 100,
  })
  return { outbox, relay }
}

describe('a function as a destination', () => {
  test('gets the message and its key; what it returns is of no interest', async () => {
    const seen: unknown[] = []
    const { outbox } = await relayTo(({ body }, { idempotencyKey, attempt }) => {
      seen.push([Buffer.from(body).toString(), idempotencyKey, attempt])
      return false
    })
    const [sent] = await outbox.untilIn('sent')

    expect(seen).toEqual([['{"event":"evt_sink_1","i":0}', sent?.key, 1]])
  })

  test('that throws permanent(reason) makes the message dead, in no doubt', async () => {
    const { outbox } = await relayTo(() => {
      throw permanent('no such customer')
    })
    const [dead] = await outbox.untilIn('dead')

    expect(dead).toMatchObject({ reason: 'no such customer', attempts: 1 })
    expect(dead?.uncertainSince).toBeUndefined()
  })

  test('that throws permanent(reason) leaves no secret in the reason, and nothing PostgreSQL refuses', async () => {
    const { outbox, relay } = await relayTo(() => {
      throw permanent('sk_live_canary0123456789 may not write to \u0000')
    })
    const told = await relay.untilHappened('message.dead')
    const [dead] = await outbox.untilIn('dead')

    expect(dead).toMatchObject({ reason: '[redacted] may not write to \ufffd' })
    expect(told).toMatchObject({ reason: dead?.reason })
  })

  test('that throws retryAfter(ms) is called again no sooner, in no doubt', async () => {
    const { outbox, relay } = await relayTo(() => {
      throw retryAfter(3_600_000)
    })

    expect(await relay.untilHappened('message.failed')).toMatchObject({ retryInMs: 3_600_000 })
    expect((await outbox.untilIn('ready'))[0]?.uncertainSince).toBeUndefined()
  })

  test('that throws anything else leaves the message in doubt, and is called with the same key', async () => {
    const keys: string[] = []
    const { outbox } = await relayTo((_message, { idempotencyKey }) => {
      keys.push(idempotencyKey)
      if (keys.length === 1) throw new Error('who knows')
    })
    const [sent] = await outbox.untilIn('sent')

    expect(keys).toEqual([sent?.key, sent?.key])
    expect(sent?.failures).toMatchObject([{ reason: 'error', message: 'Error: who knows' }])
  })

  test('that does not look at its signal is given up at its time', async () => {
    let calls = 0
    const { outbox } = await relayTo(
      () => {
        calls += 1
        return calls === 1 ? new Promise(() => undefined) : undefined
      },
      { timeoutMs: 200 },
    )
    const [sent] = await outbox.untilIn('sent')

    expect(sent?.failures).toMatchObject([{ reason: 'timeout' }])
  })

  test('that is running when the relay is stopped is aborted after the grace period, and in doubt', async () => {
    let reason: unknown
    let isCalled = false
    const { outbox, relay } = await relayTo((_message, { signal }) => {
      isCalled = true
      return new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => {
          reason = signal.reason
          reject(new Error('aborted'))
        })
      })
    })
    await until('it is called', () => isCalled)

    await relay.inbox.stop()

    expect(reason).toMatchObject({ message: 'The relay was stopped' })
    expect((await outbox.list('ready'))[0]?.uncertainSince).toBeInstanceOf(Date)
  })

  test('is called no more often at once than its concurrency says, and every message once', async () => {
    let running = 0
    let most = 0
    let calls = 0
    const { outbox } = await relayTo(
      async () => {
        calls += 1
        running += 1
        most = Math.max(most, running)
        await new Promise((resolve) => setImmediate(resolve))
        running -= 1
      },
      { concurrency: 3 },
      200,
    )
    await outbox.untilIn('sent', 200)

    expect(most).toBe(3)
    expect(calls).toBe(200)
  })

  // As docs/guides/outbox.md says: nothing is counted across processes.
  test('is called by every relay as often at once as its concurrency says', async () => {
    let running = 0
    const hang = () => {
      running += 1
      return new Promise<void>(() => undefined)
    }
    const { outbox } = await relayTo(hang, { concurrency: 2 }, 20)
    await outbox.relay([destination('sink', { concurrency: 2 }, hang)], { stopGraceMs: 100 })

    await until('both send two', () => running === 4)
  })

  test('with a rate is called no more often than that', async () => {
    const at: number[] = []
    const { outbox } = await relayTo(
      () => {
        at.push(performance.now())
      },
      { ratePerSecond: 50 },
      30,
    )
    await outbox.untilIn('sent', 30)

    // A tenth of a second's worth may go at once; the rest keeps its distance.
    expect(at.at(-1)! - at[0]!).toBeGreaterThanOrEqual(((30 - 5 - 1) / 50) * 1_000 - 5)
  })

  test('with a rate, and slow to answer, is called as often at once as its concurrency says', async () => {
    let running = 0
    const hang = () => {
      running += 1
      return new Promise<void>(() => undefined)
    }
    const outbox = await openOutbox('sqlite')
    await outbox.write(7)
    // The relay claims because there is room: it does not look by itself before the test has given up.
    await outbox.relay([destination('sink', { ratePerSecond: 5, concurrency: 6 }, hang)], {
      pollMs: 60_000,
      stopGraceMs: 100,
    })

    await until('six are running', () => running === 6, { limitMs: 20_000 })
  })
})
