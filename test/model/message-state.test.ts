import { describe, expect, test } from 'vitest'
import { MESSAGE_STATES, MESSAGE_TRANSITIONS } from '../../src/model/message-state.ts'
import type { MessageOutcomeState } from '../../src/model/message-state.ts'
import { listTableRows, readPage } from '../docs/markdown.ts'
import { listAllowed } from '../support/table-checks.ts'

const transitions = Object.entries(MESSAGE_TRANSITIONS).flatMap(([from, targets]) =>
  Object.entries(targets).map(([to, how]) => [from, to, how] as const),
)

describe('the table of transitions of a message', () => {
  test('has a row for every state, and no other', () => {
    expect(Object.keys(MESSAGE_TRANSITIONS).sort()).toEqual([...MESSAGE_STATES].sort())
  })

  test('leads to every state, and to sent only from where that is known', () => {
    const reached = new Set<string>(transitions.map(([, to]) => to))

    expect(MESSAGE_STATES.filter((state) => !reached.has(state))).toEqual([])
    expect(transitions.filter(([, to]) => to === 'sent').map(([from]) => from)).toEqual([
      'sending',
      'unknown',
    ])
  })

  test('lets nothing out of sent and discarded', () => {
    expect(transitions.filter(([from]) => from === 'sent' || from === 'discarded')).toEqual([])
  })
})

const outcomes: readonly MessageOutcomeState[] = ['sent', 'dead', 'unknown', 'discarded']

test.each(['postgres', 'sqlite'])(
  'the check in the tables of %s allows exactly the outcomes',
  (engine) => {
    expect(listAllowed(engine, 'message_outcomes', 'state')).toEqual(outcomes)
  },
)

test('docs/lifecycle.md lists every transition of a message, and no other', () => {
  const rows = listTableRows(readPage('docs/lifecycle.md'), [
    'from',
    'to',
    'what takes a message there',
  ])

  expect(rows.map((row) => row.join(' | ')).sort()).toEqual(
    transitions.map((row) => row.join(' | ')).sort(),
  )
})
