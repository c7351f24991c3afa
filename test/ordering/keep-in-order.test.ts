import { expect, test } from 'vitest'
import { keepInOrder } from '../../src/ordering/keep-in-order.ts'

const event = (name: string, isBehind = false) => ({
  name,
  lane: { id: name.slice(0, 1), isBehind },
})

test('what is behind one that is not kept goes with it, and no other', () => {
  const events = [event('K1'), event('L1'), event('K2', true), event('L2', true), event('K3', true)]
  const namesWithout = (left: string) =>
    keepInOrder(events, ({ name }) => name !== left).map(({ name }) => name)

  expect(namesWithout('K1')).toEqual(['L1', 'L2'])
  expect(namesWithout('K2')).toEqual(['K1', 'L1', 'L2'])
  expect(namesWithout('L2')).toEqual(['K1', 'L1', 'K2', 'K3'])
})

test('events of a lane that do not wait for each other, and those without one, go alone', () => {
  const events = [event('A1'), event('A2'), { name: 'x', lane: undefined }]

  expect(keepInOrder(events, ({ name }) => name !== 'A1').map(({ name }) => name)).toEqual([
    'A2',
    'x',
  ])
})
