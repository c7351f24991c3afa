import { describe, expect, test } from 'vitest'
import {
  EVENT_STATES,
  PARKED_STATES,
  SETTLED_STATES,
  TRANSITIONS,
} from '../../src/model/event-state.ts'
import { listTableRows, readPage } from '../docs/markdown.ts'
import { listAllowed } from '../support/table-checks.ts'

const transitions = Object.entries(TRANSITIONS).flatMap(([from, targets]) =>
  Object.entries(targets).map(([to, how]) => [from, to, how] as const),
)

describe('the table of transitions', () => {
  test('has a row for every state, and no other', () => {
    expect(Object.keys(TRANSITIONS).sort()).toEqual([...EVENT_STATES].sort())
  })

  test('counts every state once: on its way, parked or settled', () => {
    const all = ['ready', 'running', ...PARKED_STATES, ...SETTLED_STATES]

    expect(all.sort()).toEqual([...EVENT_STATES].sort())
  })

  test('settles an event as done or skipped only from running', () => {
    const early = transitions.filter(
      ([from, to]) => (to === 'done' || to === 'skipped') && from !== 'running',
    )

    expect(early).toEqual([])
  })

  test('never parks an event that has settled', () => {
    const parked: readonly string[] = PARKED_STATES
    const settled: readonly string[] = SETTLED_STATES

    expect(
      transitions.filter(([from, to]) => settled.includes(from) && parked.includes(to)),
    ).toEqual([])
  })
})

describe.each(['postgres', 'sqlite'])('the checks in the tables of %s', (engine) => {
  test('allow exactly the parked states in the queue', () => {
    expect(listAllowed(engine, 'queue', 'parked')).toEqual([...PARKED_STATES])
  })

  test('allow exactly the settled states as outcomes', () => {
    expect(listAllowed(engine, 'outcomes', 'state')).toEqual([...SETTLED_STATES])
  })
})

test('docs/lifecycle.md lists every transition, and no other', () => {
  const rows = listTableRows(readPage('docs/lifecycle.md'), ['from', 'to', 'what takes it there'])

  expect(sorted(rows)).toEqual(sorted(transitions))
})

function sorted(rows: readonly (readonly string[])[]): readonly string[] {
  return rows.map((row) => row.join(' | ')).sort()
}
