import { describe, expect, test } from 'vitest'
import { Patience } from '../../src/receive/deadlines.ts'
import type { Waiting } from '../../src/receive/deadlines.ts'

interface Guest extends Waiting {
  readonly name: string
}

/** A patience of a few milliseconds, and a promise for those who were told, once there are so many. */
function open(ms = 5) {
  const told: string[] = []
  let onTold: (() => void) | undefined
  const patience = new Patience<Guest>(ms, ({ name }) => {
    told.push(name)
    onTold?.()
  })
  const begin = (name: string): Guest => {
    const guest = { name, expiresAt: performance.now() + ms }
    patience.begin(guest)
    return guest
  }
  const untilTold = async (count: number): Promise<readonly string[]> => {
    while (told.length < count) await new Promise<void>((resolve) => (onTold = resolve))
    return told
  }
  return { patience, begin, untilTold }
}

describe('patience', () => {
  test('ends for those who came first, first', async () => {
    const { begin, untilTold } = open()

    for (const name of ['a', 'b', 'c']) begin(name)

    expect(await untilTold(3)).toEqual(['a', 'b', 'c'])
  })

  test.each([
    { gone: ['a'], left: ['b', 'c'] },
    { gone: ['b'], left: ['a', 'c'] },
    { gone: ['c'], left: ['a', 'b'] },
    { gone: ['b', 'a'], left: ['c'] },
    { gone: ['c', 'b'], left: ['a'] },
  ])('is not needed any more for $gone, and $left are told', async ({ gone, left }) => {
    const { patience, begin, untilTold } = open()
    const guests = ['a', 'b', 'c'].map(begin)

    // Twice, as when an answer and a failure come together.
    for (const name of [...gone, ...gone]) patience.end(guests.find((one) => one.name === name)!)
    begin('last')

    expect(await untilTold(left.length + 1)).toEqual([...left, 'last'])
  })

  test('begins anew when nobody was left', async () => {
    const { patience, begin, untilTold } = open()
    patience.end(begin('a'))

    begin('b')

    expect(await untilTold(1)).toEqual(['b'])
  })

  test('lets go of those who wait no longer', () => {
    const { patience, begin } = open(60_000)
    const [first, second, third] = ['a', 'b', 'c'].map(begin)

    patience.end(second!)

    expect(first!.after).toBe(third)
    expect(third!.before).toBe(first)
    expect([second!.before, second!.after]).toEqual([undefined, undefined])
    for (const guest of [first!, third!]) patience.end(guest)
  })
})
