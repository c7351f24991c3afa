import { describe, expect, test } from 'vitest'
import { Combiner } from '../../src/flow/combiner.ts'
import { Permits } from '../../src/flow/permits.ts'

describe('a combiner', () => {
  test('takes together what is asked for while a batch is on its way', async () => {
    const batches: number[][] = []
    let open: () => void = () => undefined
    const gate = new Promise<void>((resolve) => (open = resolve))
    const combiner = new Combiner<number, string>(
      async (entries) => {
        batches.push([...entries])
        await gate
        return entries.map(String)
      },
      { batchMax: 3 },
    )

    const first = [combiner.add(1), combiner.add(2)]
    await expect.poll(() => batches.length).toBe(1)
    const rest = [3, 4, 5, 6].map((n) => combiner.add(n))
    open()

    expect(await Promise.all([...first, ...rest])).toEqual(['1', '2', '3', '4', '5', '6'])
    expect(batches).toEqual([[1, 2], [3, 4, 5], [6]])
  })

  test('a batch that fails fails for all of it, and the next one is tried', async () => {
    let isBroken = true
    const combiner = new Combiner<number, number>(
      async (entries) => {
        if (isBroken) throw new Error('away')
        return entries
      },
      { batchMax: 10 },
    )
    const answers = await Promise.allSettled([combiner.add(1), combiner.add(2)])
    isBroken = false

    expect(answers.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    expect(await combiner.add(3)).toBe(3)
  })
})

test('a combiner takes what is added because of an answer', async () => {
  const combiner = new Combiner<number, number>(async (entries) => entries, { batchMax: 10 })

  const second = await combiner.add(1).then((one) => combiner.add(one + 1))
  await combiner.idle()

  expect(second).toBe(2)
})

describe('permits', () => {
  test('let no more in than there are, in the order of asking', async () => {
    const permits = new Permits(2)
    const order: string[] = []
    const first = await permits.take()
    const second = await permits.take()
    const waiting = ['c', 'd'].map(async (name) => {
      const giveBack = await permits.take()
      order.push(name)
      return giveBack
    })
    expect(order).toEqual([])

    first()
    first()
    await waiting[0]
    expect(order).toEqual(['c'])
    second()
    await waiting[1]

    expect(order).toEqual(['c', 'd'])
  })

  test('are given back by work that throws', async () => {
    const permits = new Permits(1)

    await expect(permits.use(() => Promise.reject(new Error('no')))).rejects.toThrow('no')
    expect(await permits.use(() => Promise.resolve('in'))).toBe('in')
  })
})
