import { describe, expect, test } from 'vitest'
import type { HandlerUnit } from '../../../src/work/handlers.ts'
import { Turns } from '../../../src/work/group/serialize-contended.ts'

const unit = (name: string): HandlerUnit => ({
  name,
  handlers: [],
  isSteps: false,
  guarantee: 'exactly-once',
  attemptsMax: 1,
  timeoutMs: 1_000,
  groupMax: 200,
  weight: 1,
})

function open() {
  let now = 1_000
  const turns = new Turns(() => now)
  return { turns, pass: (ms: number) => (now += ms) }
}

/** Whether a turn can be had at once. It is given back. */
async function isFree(turns: Turns, ...names: string[]): Promise<boolean> {
  let isTaken = false
  const taking = turns.take(names.map(unit)).then((release) => {
    isTaken = true
    release()
  })
  // Every step of an uncontended turn is a microtask.
  await new Promise((resolve) => setImmediate(resolve))
  const wasTaken = isTaken
  void taking
  return wasTaken
}

describe('turns', () => {
  test('nobody waits where nobody was in the way', async () => {
    const { turns } = open()
    await turns.take([unit('a')])

    expect(await isFree(turns, 'a')).toBe(true)
  })

  test('after contention the groups of a unit run one after the other, in the order they came', async () => {
    const { turns } = open()
    turns.contended(unit('a'))
    const first = await turns.take([unit('a'), unit('a')])
    const order: number[] = []
    const waiting = [1, 2, 3].map(async (n) => {
      const release = await turns.take([unit('a')])
      order.push(n)
      release()
    })

    expect(await isFree(turns, 'a')).toBe(false)
    first()
    await Promise.all(waiting)

    expect(order).toEqual([1, 2, 3])
  })

  test('other units do not wait', async () => {
    const { turns } = open()
    turns.contended(unit('a'))
    await turns.take([unit('a')])

    expect(await isFree(turns, 'b')).toBe(true)
    expect(await isFree(turns, 'b', 'a')).toBe(false)
  })

  test('two units in two orders do not wait for each other', async () => {
    const { turns } = open()
    turns.contended(unit('a'))
    turns.contended(unit('b'))

    const one = turns.take([unit('a'), unit('b')]).then((release) => release())
    const other = turns.take([unit('b'), unit('a')]).then((release) => release())

    await expect(Promise.all([one, other])).resolves.toBeDefined()
  })

  test('side by side is tried again after a while, and after a longer one when it did not work', async () => {
    const { turns, pass } = open()
    turns.contended(unit('a'))
    pass(5_000)
    await turns.take([unit('a')])
    expect(await isFree(turns, 'a')).toBe(true)

    pass(1)
    turns.contended(unit('a'))
    pass(5_001)
    await turns.take([unit('a')])
    expect(await isFree(turns, 'a')).toBe(false)
  })
})
