import { expect, test } from 'vitest'
import { ACTION_RULES, EVENT_ACTIONS, REFUSAL_CODES } from '../../src/model/event-action.ts'
import { EVENT_STATES } from '../../src/model/event-state.ts'
import { listHeadings, listTableRows, readPage } from './markdown.ts'

test('docs/operators.md has the table of actions and states, cell for cell', () => {
  const rows = listTableRows(readPage('docs/operators.md'), ['state', ...EVENT_ACTIONS])

  expect(rows).toEqual(
    EVENT_STATES.map((state) => [
      state,
      ...EVENT_ACTIONS.map((action) => ACTION_RULES[action][state] ?? ''),
    ]),
  )
})

test('docs/reference/refusals.md has a heading for every code, and no other', () => {
  const headings = listHeadings(readPage('docs/reference/refusals.md'))

  expect(headings.filter((heading) => heading.startsWith('`'))).toEqual(
    REFUSAL_CODES.map((code) => `\`${code}\``),
  )
})
