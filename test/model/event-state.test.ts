import fs from 'node:fs'
import { describe, expect, test } from 'vitest'
import {
  EVENT_STATES,
  PARKED_STATES,
  SETTLED_STATES,
  TRANSITIONS,
} from '../../src/model/event-state.ts'
import { listTableRows, readPage } from '../docs/markdown.ts'

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

  test('leads to every state but by no path from a state to itself', () => {
    const reached = new Set(transitions.map(([, to]) => to))

    expect(
      EVENT_STATES.filter((state) => !reached.has(state) && !AT_ARRIVAL.includes(state)),
    ).toEqual([])
    expect(transitions.filter(([from, to]) => from === to)).toEqual([])
  })

  test('lets no state be a trap: from each one the event can run again', () => {
    for (const state of EVENT_STATES.filter((name) => name !== 'ready')) {
      expect(Object.keys(TRANSITIONS[state]), state).toContain('ready')
    }
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

/** States that an event may have from the moment it is stored. */
const AT_ARRIVAL: readonly string[] = ['ready', 'conflict', 'quarantined']

describe.each(['postgres', 'sqlite'])('the checks in the tables of %s', (engine) => {
  const sql = () => readMigrations(engine)

  test('allow exactly the parked states in the queue', () => {
    expect(listChecks(sql(), 'parked')).toEqual([[...PARKED_STATES].sort()])
  })

  test('allow exactly the settled states as outcomes', () => {
    expect(listChecks(sql(), 'state')).toEqual([[...SETTLED_STATES].sort()])
  })
})

test('docs/lifecycle.md lists every transition, and no other', () => {
  const rows = listTableRows(readPage('docs/lifecycle.md'), ['from', 'to', 'what takes it there'])

  expect(sorted(rows)).toEqual(sorted(transitions))
})

function sorted(rows: readonly (readonly string[])[]): readonly string[] {
  return rows.map((row) => row.join(' | ')).sort()
}

function readMigrations(engine: string): string {
  return fs.readFileSync(
    new URL(`../../src/store/${engine}/migrations.ts`, import.meta.url),
    'utf8',
  )
}

/** The different lists of `check (column in (…))`, each in order of the alphabet. */
function listChecks(sql: string, column: string): readonly (readonly string[])[] {
  const checks = sql.matchAll(new RegExp(`check\\s*\\(\\s*${column}\\s+in\\s*\\(([^)]*)\\)`, 'g'))
  const lists = [...checks].map((check) =>
    [...(check[1] ?? '').matchAll(/'([^']*)'/g)].map((word) => word[1] ?? '').sort(),
  )
  return [...new Map(lists.map((list) => [list.join(), list])).values()]
}
