import { expect, test } from 'vitest'
import { formatMessageFilter, parseMessageFilter } from '../../src/admin/message-filter-text.ts'

const NOW = new Date('2026-11-16T12:00:00Z')

test('a filter of messages is read term by term, and written so that it is read as the same', () => {
  const text = 'state:dead,unknown destination:crm text:"connection \\"refused\\"" after:2h'

  const filter = parseMessageFilter(text, NOW)

  expect(filter).toEqual({
    state: ['dead', 'unknown'],
    destination: 'crm',
    text: 'connection "refused"',
    after: new Date('2026-11-16T10:00:00Z'),
  })
  expect(parseMessageFilter(formatMessageFilter(filter))).toEqual(filter)
  expect(parseMessageFilter('')).toEqual({})
  expect(formatMessageFilter({ state: 'dead', before: NOW })).toBe(
    'state:dead before:2026-11-16T12:00:00.000Z',
  )
})

test.each([
  ['source:stripe', 'There are: state, destination, text, before, after'],
  ['destinaton:crm', 'did you mean "destination"?'],
  ['state:failed', 'There are: ready, sending, sent, dead, unknown, discarded'],
  ['state:dead state:sent', 'state can stand in it once'],
  ['crm', 'is no term such as in state:dead destination:crm after:2h'],
])('a filter of messages that cannot be read says why: %s', (text, why) => {
  expect(() => parseMessageFilter(text, NOW)).toThrow(why)
})
