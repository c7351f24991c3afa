import { expect, test } from 'vitest'
import { takeDecided } from '../../../src/store/shared/take-decided.ts'
import type { UnsortedEvent } from '../../../src/store/shared/take-decided.ts'
import type { DecidedEvent } from '../../../src/store/contract/lanes.ts'

const unsorted = (eventId: string, more: Partial<UnsortedEvent> = {}): UnsortedEvent => ({
  eventId,
  run: 0,
  attempts: 0,
  isTried: false,
  ...more,
})
const decided = (eventId: string, attempt = 1) =>
  ({ event: { eventId, run: 0, attempt } }) as unknown as DecidedEvent
const idsOf = (taken: readonly DecidedEvent[]) => taken.map(({ event }) => event.eventId)

test('all that was decided is taken, and what is sorted by now is not', () => {
  const found = [unsorted('b'), unsorted('c')]

  expect(
    idsOf(
      takeDecided(
        found,
        ['a', 'b', 'c'].map((id) => decided(id)),
      ),
    ),
  ).toEqual(['b', 'c'])
})

test('nothing is taken behind one that was not decided', () => {
  const found = ['a', 'new', 'c'].map((id) => unsorted(id))

  expect(idsOf(takeDecided(found, [decided('a'), decided('c')]))).toEqual(['a'])
})

test.each([
  ['is another run', { run: 1 }],
  ['was tried', { attempts: 1 }],
])('nor behind one that %s since', (_, more) => {
  const found = [unsorted('a', more), unsorted('b')]

  expect(takeDecided(found, [decided('a'), decided('b')])).toEqual([])
})

test('those that were asked for are each for themselves', () => {
  const found = [
    unsorted('new'),
    unsorted('x', { isTried: true, attempts: 2 }),
    unsorted('y', { isTried: true, attempts: 3 }),
  ]

  expect(idsOf(takeDecided(found, [decided('x', 3), decided('y', 3)]))).toEqual(['x'])
})
