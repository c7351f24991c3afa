import { describe, expect, test } from 'vitest'
import type { HandlerUnit } from '../../../src/work/handler-unit.ts'
import { ContentionQueue } from '../../../src/work/group/contention-queue.ts'

const unit = (name: string): HandlerUnit => ({
  name,
  handlers: [],
  isSteps: false,
  order: undefined,
  awaitedBy: [],
  guarantee: 'exactly-once',
  attemptsMax: 1,
  timeoutMs: 1_000,
  groupMax: 200,
  weight: 1,
})

function open() {
  let now = 1_000
  const queue = new ContentionQueue(() => now)
  return { queue, pass: (ms: number) => (now += ms) }
}

/** Whether a turn can be had at once. It is given back. */
async function isFree(queue: ContentionQueue, ...names: string[]): Promise<boolean> {
  let isTaken = false
  const taking = queue.take(names.map(unit)).then((release) => {
    isTaken = true
    release()
  })
  // Every step of an uncontended turn is a microtask.
  await new Promise((resolve) => setImmediate(resolve))
  const wasTaken = isTaken
  void taking
  return wasTaken
}

describe('queue', () => {
  test('no group waits where no other transaction was in the way', async () => {
    const { queue } = open()
    await queue.take([unit('a')])

    expect(await isFree(queue, 'a')).toBe(true)
  })

  test('after contention the groups of a unit run one after the other, in the order they came', async () => {
    const { queue } = open()
    queue.contended(unit('a'))
    const first = await queue.take([unit('a'), unit('a')])
    const order: number[] = []
    const waiting = [1, 2, 3].map(async (n) => {
      const release = await queue.take([unit('a')])
      order.push(n)
      release()
    })

    expect(await isFree(queue, 'a')).toBe(false)
    first()
    await Promise.all(waiting)

    expect(order).toEqual([1, 2, 3])
  })

  test('other units do not wait', async () => {
    const { queue } = open()
    queue.contended(unit('a'))
    await queue.take([unit('a')])

    expect(await isFree(queue, 'b')).toBe(true)
    expect(await isFree(queue, 'b', 'a')).toBe(false)
  })

  test('two units in two orders do not wait for each other', async () => {
    const { queue } = open()
    queue.contended(unit('a'))
    queue.contended(unit('b'))

    const one = queue.take([unit('a'), unit('b')]).then((release) => release())
    const other = queue.take([unit('b'), unit('a')]).then((release) => release())

    await expect(Promise.all([one, other])).resolves.toBeDefined()
  })

  test('side by side is tried again after a while, and after a longer one when it did not work', async () => {
    const { queue, pass } = open()
    queue.contended(unit('a'))
    pass(5_000)
    await queue.take([unit('a')])
    expect(await isFree(queue, 'a')).toBe(true)

    pass(1)
    queue.contended(unit('a'))
    pass(5_001)
    await queue.take([unit('a')])
    expect(await isFree(queue, 'a')).toBe(false)
  })
})
