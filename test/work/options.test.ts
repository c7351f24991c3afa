import { expect, test } from 'vitest'
import { resolveWorkerOptions, slotCount } from '../../src/work/options.ts'

test.each([
  // Who has a single slot wants one group at a time.
  [1, 1],
  [2, 3],
  [3, 4],
  [4, 5],
  [7, 8],
  [8, 10],
])(
  'a worker of %i groups has %i slots, those that are kept free included',
  (concurrency, slots) => {
    expect(slotCount(resolveWorkerOptions({ concurrency }))).toBe(slots)
  },
)

test('a worker keeps as many slots free as it is told', () => {
  expect(slotCount(resolveWorkerOptions({ concurrency: 3, reserved: 0 }))).toBe(3)
  expect(slotCount(resolveWorkerOptions({ concurrency: 1, reserved: 1 }))).toBe(2)
})
