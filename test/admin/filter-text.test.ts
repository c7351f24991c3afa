import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { EventFilter } from '../../src/admin/event-query.ts'
import { formatFilter, parseFilter } from '../../src/admin/filter-text.ts'
import { EVENT_STATES } from '../../src/model/event-state.ts'

const NOW = new Date('2026-11-16T12:00:00Z')
const parse = (text: string): EventFilter => parseFilter(text, NOW)

describe('a filter as text', () => {
  test.each<[string, EventFilter]>([
    ['', {}],
    ['  ', {}],
    ['state:dead', { state: ['dead'] }],
    ['state:dead,unhandled', { state: ['dead', 'unhandled'] }],
    ['source:stripe type:invoice.paid', { source: 'stripe', type: 'invoice.paid' }],
    ['key:evt_1:2', { key: 'evt_1:2' }],
    ['text:"card \\"gold\\" declined"', { text: 'card "gold" declined' }],
    ['attempts:3', { attempts: 3 }],
    ['lane:stripe/cus/9', { lane: { source: 'stripe', key: 'cus/9' } }],
    ['$.data.customer=cus_9', { where: { path: '$.data.customer', equals: 'cus_9' } }],
    ['$.items[0].id=17', { where: { path: '$.items[0].id', equals: '17' } }],
    ['$.paid=true', { where: { path: '$.paid', equals: true } }],
    ['$.paid="true"', { where: { path: '$.paid', equals: 'true' } }],
    ['$.by=null', { where: { path: '$.by', equals: null } }],
    ['$.url=a=b', { where: { path: '$.url', equals: 'a=b' } }],
    ['after:2h', { after: new Date('2026-11-16T10:00:00Z') }],
    ['before:7d', { before: new Date('2026-11-09T12:00:00Z') }],
    ['after:2026-11-01', { after: new Date('2026-11-01T00:00:00Z') }],
    ['after:2026-11-01T03:00+01:00', { after: new Date('2026-11-01T02:00:00Z') }],
  ])('%s', (text, filter) => {
    expect(parse(text)).toEqual(filter)
  })

  test.each([
    ['declined', 'write text:declined'],
    ['sorce:stripe', 'did you mean "source"?'],
    ['state:dead state:done', 'state can stand in it once'],
    ['$.a=1 $.b=2', '$.b can stand in it once'],
    ['text:"open', 'is no term'],
    ['source:', 'is no term'],
    ['text:"a"b', 'is no term'],
    ['attempts:many', 'attempts:3'],
    ['lane:stripe', '<source>/<key>'],
    ['after:yesterday', 'after:2h'],
    ['after:2026-11-01T03:00', 'after:2026-11-16T03:00Z'],
    ['after:2026-13-01', 'after:2h'],
    ['a'.repeat(5_000), 'at most 4000'],
  ])('%.40s is refused with what to write', (text, hint) => {
    expect(() => parse(text)).toThrow(
      expect.objectContaining({ code: 'OPTION_INVALID', message: expect.stringContaining(hint) }),
    )
  })

  test('what is refused is not echoed as it came', () => {
    expect(() => parse('\u001b[2J\u0007')).toThrow(/^[\x20-\x7e]*$/)
  })

  test('is read as it was written', () => {
    const time = fc
      .date({ min: new Date(0), max: new Date('2100-01-01'), noInvalidDate: true })
      .map((date) => new Date(date))
    const name = fc.stringMatching(/^[^.[\]\s="$]{1,5}$/)
    const filter = fc.record<EventFilter>(
      {
        state: fc.uniqueArray(fc.constantFrom(...EVENT_STATES), { minLength: 1 }),
        source: fc.string(),
        type: fc.string(),
        key: fc.string(),
        text: fc.string(),
        attempts: fc.nat(),
        lane: fc.record({
          source: fc.stringMatching(/^[a-z0-9][a-z0-9_-]{0,5}$/),
          key: fc.string(),
        }),
        where: fc.record({
          path: fc.array(name, { maxLength: 3 }).map((steps) => ['$', ...steps].join('.')),
          equals: fc.oneof(fc.string(), fc.boolean(), fc.constant(null)),
        }),
        before: time,
        after: time,
      },
      { requiredKeys: [] },
    )

    fc.assert(
      fc.property(filter, (given) => {
        expect(parse(formatFilter(given))).toEqual(given)
      }),
    )
  })
})
