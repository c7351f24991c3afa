import { expect, test } from 'vitest'
import { countReceived } from '../../bench/harness/count-received.ts'
import { listRequests, requestAt, STORM } from '../../bench/load/storm-order.ts'

test('in a storm one of a hundred requests is new, and the others were sent before', () => {
  const seen = new Set<number>()
  const fresh: number[] = []
  for (let index = 0; index < 50_000; index += 1) {
    const request = requestAt(index, STORM)
    if (!seen.has(request)) fresh.push(index)
    seen.add(request)
  }
  expect(fresh).toEqual(Array.from({ length: 500 }, (_, at) => at * STORM))
})

test('the duplicates of a storm are spread over all that came before', () => {
  const times = new Map<number, number>()
  for (let index = 40_000; index < 50_000; index += 1) {
    const request = requestAt(index, STORM)
    times.set(request, (times.get(request) ?? 0) + 1)
  }
  // 9,900 duplicates of up to 500 events: none of them has a tenth of all.
  expect(times.size).toBeGreaterThan(450)
  expect(Math.max(...times.values())).toBeLessThan(990)
})

test('without duplicates every request is new', () => {
  expect([0, 1, 2, 99, 100].map((index) => requestAt(index, 1))).toEqual([0, 1, 2, 99, 100])
})

test('what was answered must be stored, and what was on its way may be', () => {
  const runs = [
    { first: 0, requests: 1_000, refused: 0 },
    { first: 1_200, requests: 500, refused: 3 },
  ]
  expect(countReceived(runs, { newEvery: 1, inFlightMax: 65 })).toEqual({
    atLeast: 1_497,
    atMost: 1_627,
  })
})

test('of a storm each event counts once, however often it was sent', () => {
  const runs = [{ first: 0, requests: 10_000, refused: 0 }]
  const { atLeast, atMost } = countReceived(runs, { newEvery: STORM, inFlightMax: 65 })
  expect({ atLeast, atMost }).toEqual({ atLeast: 100, atMost: 101 })
  expect(listRequests({ first: 0, count: 10_000 }, STORM).size).toBe(100)
})
