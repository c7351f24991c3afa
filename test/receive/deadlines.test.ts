import { describe, expect, test } from 'vitest'
import { Deadlines } from '../../src/receive/deadlines.ts'
import type { Waiting } from '../../src/receive/deadlines.ts'

interface Guest extends Waiting {
  readonly name: string
}

/** A deadlines of a few milliseconds, and a promise for those who were told, once there are so many. */
function open(ms = 5) {
  const told: string[] = []
  let onTold: (() => void) | undefined
  const deadlines = new Deadlines<Guest>(ms, ({ name }) => {
    told.push(name)
    onTold?.()
  })
  const begin = (name: string): Guest => {
    const guest = { name, expiresAt: performance.now() + ms }
    deadlines.begin(guest)
    return guest
  }
  const untilTold = async (count: number): Promise<readonly string[]> => {
    while (told.length < count) await new Promise<void>((resolve) => (onTold = resolve))
    return told
  }
  return { deadlines, begin, untilTold }
}

describe('deadlines', () => {
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
    const { deadlines, begin, untilTold } = open()
    const guests = ['a', 'b', 'c'].map(begin)

    // Twice, as when an answer and a failure come together.
    for (const name of [...gone, ...gone]) deadlines.end(guests.find((one) => one.name === name)!)
    begin('last')

    expect(await untilTold(left.length + 1)).toEqual([...left, 'last'])
  })

  test('begins anew when no delivery was left', async () => {
    const { deadlines, begin, untilTold } = open()
    deadlines.end(begin('a'))

    begin('b')

    expect(await untilTold(1)).toEqual(['b'])
  })

  test('lets go of those who wait no longer', () => {
    const { deadlines, begin } = open(60_000)
    const [first, second, third] = ['a', 'b', 'c'].map(begin)

    deadlines.end(second!)

    expect(first!.after).toBe(third)
    expect(third!.before).toBe(first)
    expect([second!.before, second!.after]).toEqual([undefined, undefined])
    for (const guest of [first!, third!]) deadlines.end(guest)
  })
})
