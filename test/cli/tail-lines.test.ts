import { describe, expect, test } from 'vitest'
import { layOutLine } from '../../src/cli/dev/tail.ts'
import { displayWidth } from '../../src/cli/output/display-width.ts'

const ID = '01a1e66d-6842-71fc-802d-c8bec0b7a000'
const ACCEPTED = { source: 'demo', type: 'order.paid', what: '200 accepted', eventId: ID }

describe('a line of the tail', () => {
  test('has the id where a hundred columns are there, and leaves it out where they are not', () => {
    const wide = layOutLine(ACCEPTED, 100)
    const narrow = layOutLine(ACCEPTED, 80)

    expect(wide).toEqual({
      head: 'demo      order.paid        ',
      what: ['200 accepted        '],
      eventId: ID,
    })
    expect(narrow).toEqual({ head: wide.head, what: ['200 accepted'], eventId: '' })
  })

  test.each([60, 80, 100, 120])('is never wider than %i columns', (columns) => {
    const hostile = `\u001b[2J${'日本 x'.repeat(80)}`
    const { head, what } = layOutLine({ source: hostile, type: hostile, what: hostile }, columns)

    for (const text of what)
      expect(8 + 4 + displayWidth(head) + displayWidth(text)).toBeLessThanOrEqual(columns)
    expect(`${head}${what.join('')}`).not.toContain('\u001b')
  })

  test('says why something went wrong on as many lines as that needs, and a body on one', () => {
    const what = 'dead: connect ECONNREFUSED 10.0.4.17:5432 while it was booked'

    expect(layOutLine({ ...ACCEPTED, what }, 80).what.join(' ')).toBe(what)
    expect(layOutLine({ ...ACCEPTED, what, isOneLine: true }, 80).what).toEqual([
      'dead: connect ECONNREFUSED 10.0.4.17:54…',
    ])
  })

  test('is whole where it goes to a file', () => {
    const what = 'x'.repeat(200)

    expect(layOutLine({ ...ACCEPTED, what }, Infinity)).toMatchObject({ what: [what], eventId: ID })
  })
})
