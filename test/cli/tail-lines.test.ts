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
      isBelow: false,
    })
    expect(narrow).toEqual({ ...wide, what: ['200 accepted'], eventId: '' })
  })

  test.each([60, 80, 100, 120])('is never wider than %i columns', (columns) => {
    const hostile = `\u001b[2J${'日本 x'.repeat(80)}`
    const given = { source: hostile, type: hostile, what: hostile }
    const { head, what, isBelow } = layOutLine(given, columns)

    expect(8 + 2 + displayWidth(head)).toBeLessThanOrEqual(columns)
    const before = 8 + 2 + (isBelow ? 0 : displayWidth(head) + 2)
    for (const text of what) expect(before + displayWidth(text)).toBeLessThanOrEqual(columns)
    expect(`${head}${what.join('')}`).not.toContain('\u001b')
  })

  test('says why something went wrong on as many lines as that needs, and a body on one', () => {
    const what = 'dead: connect ECONNREFUSED 10.0.4.17:5432 while it was booked'

    expect(layOutLine({ ...ACCEPTED, what }, 80).what.join(' ')).toBe(what)
    expect(layOutLine({ ...ACCEPTED, what, isOneLine: true }, 80).what).toEqual([
      'dead: connect ECONNREFUSED 10.0.4.17:54…',
    ])
  })

  test('begins below its head where there is little room beside it, and what is short stays there', () => {
    const what = 'waits for app: connect ECONNREFUSED 127.0.0.1:3000; again in 5 s'

    expect(layOutLine({ ...ACCEPTED, what }, 60)).toMatchObject({
      what: ['waits for app: connect ECONNREFUSED', '127.0.0.1:3000; again in 5 s'],
      isBelow: true,
    })
    expect(layOutLine({ ...ACCEPTED, what, isOneLine: true }, 60).what).toEqual([
      'waits for app: connect ECONNREFUSED 127.0.0.1:300…',
    ])
    expect(layOutLine(ACCEPTED, 60)).toMatchObject({ what: ['200 accepted'], isBelow: false })
    expect(layOutLine({ ...ACCEPTED, what }, 80).isBelow).toBe(false)
  })

  test('is whole where it goes to a file', () => {
    const what = 'x'.repeat(200)

    expect(layOutLine({ ...ACCEPTED, what }, Infinity)).toMatchObject({ what: [what], eventId: ID })
  })
})
