import { describe, expect, test } from 'vitest'
import { cutText, displayWidth } from '../../src/cli/output/display-width.ts'
import { printBody } from '../../src/cli/output/print-body.ts'
import type { Shell } from '../../src/cli/shell.ts'
import { formatAge, formatSpan, formatTime } from '../../src/cli/output/times.ts'
import { wrapLines, wrapText, wrapWords } from '../../src/cli/output/wrap-text.ts'

const NOW = new Date('2026-11-16T03:00:00Z')

describe('widths', () => {
  test.each([
    ['plain', 5],
    ['日本語', 6],
    ['e\u0301', 1],
    ['👍', 2],
    ['', 0],
  ])('%o is %i columns wide', (text, width) => {
    expect(displayWidth(text)).toBe(width)
  })

  test.each([
    ['customer', 8, 'customer'],
    ['customer', 5, 'cust…'],
    ['日本語', 5, '日本…'],
    ['日本語', 4, '日…'],
    ['customer', 0, ''],
  ])('%o in %i columns is %o', (text, columns, cut) => {
    expect(cutText(text, columns)).toBe(cut)
  })

  test('a text is broken between words, and a long word is cut', () => {
    expect(wrapText('one two three', 7)).toEqual(['one two', 'three'])
    expect(wrapText('a-word-that-is-long x', 7)).toEqual(['a-word…', 'x'])
    expect(wrapText('one two three', Infinity)).toEqual(['one two three'])
  })

  test('what may be copied is broken between words only', () => {
    expect(wrapWords('one two three', 7)).toEqual(['one two', 'three'])
    expect(wrapWords('see a-word-that-is-long x', 7)).toEqual(['see', 'a-word-that-is-long', 'x'])
    expect(wrapWords('one two three', Infinity)).toEqual(['one two three'])
  })

  test('of what is laid out already a second column stays one, and a command stays whole', () => {
    const text = 'one two three\n  hookonce retry <id>\n  retry  run it again'

    expect(wrapLines(text, 15)).toBe(
      'one two three\n  hookonce retry <id>\n  retry  run it\n         again',
    )
    expect(wrapLines(text, 8)).toContain('one two\nthree\n  hookonce retry <id>\n')
    expect(wrapLines(text, Infinity)).toBe(text)
  })
})

describe('times', () => {
  test.each([
    ['2026-11-16T02:57:00Z', '3m', '2026-11-16 02:57:00Z (3 minutes ago)'],
    ['2026-11-16T02:00:00Z', '1h', '2026-11-16 02:00:00Z (1 hour ago)'],
    ['2026-11-16T03:05:00Z', 'in 5m', '2026-11-16 03:05:00Z (in 5 minutes)'],
  ])('%s is %s', (time, age, exact) => {
    expect(formatAge(new Date(time), NOW)).toBe(age)
    expect(formatTime(new Date(time), NOW)).toBe(exact)
  })

  test('a span has the unit that fits', () => {
    expect([34, 1_200, 180_000].map(formatSpan)).toEqual(['34 ms', '1.2 s', '3 minutes'])
  })
})

describe('the body of an event', () => {
  function print(text: string): readonly string[] {
    const lines: string[] = []
    const shell = { columns: Infinity, hasColour: false, print: (line: string) => lines.push(line) }
    const event = { id: 'evt', headers: {}, payload: 'kept', body: Buffer.from(text) } as const
    printBody(shell as unknown as Shell, event, Infinity)
    return lines.slice(2)
  }

  test('is laid out with every number and text as the sender wrote it', () => {
    const text =
      '{"id":9007199254740993,"huge":1e400,"price":1.10,"none":[],"no":{},"list":[1,{"a":"}:,\\""}]}'

    expect(print(text)).toEqual([
      '  {',
      '    "id": 9007199254740993,',
      '    "huge": 1e400,',
      '    "price": 1.10,',
      '    "none": [],',
      '    "no": {},',
      '    "list": [',
      '      1,',
      '      {',
      '        "a": "}:,\\""',
      '      }',
      '    ]',
      '  }',
    ])
    expect(print('"text"')).toEqual(['  "text"'])
    expect(print('no\njson')).toEqual(['  no', '  json'])
  })

  test('that is nothing but brackets is laid out in proportion to its size', () => {
    const depth = 100_000
    const lines = print('['.repeat(depth) + ']'.repeat(depth))

    expect(lines.length).toBe(2 * depth - 1)
    expect(lines.every(({ length }) => length < 100)).toBe(true)
  })
})
