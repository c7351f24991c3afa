import { describe, expect, test } from 'vitest'
import { segment } from '../../../src/providers/index.ts'
import { sign } from '../../../src/testing/index.ts'

const secret = 'a secret of this destination'
const authorization = 'Bearer of-the-destination'
const at = new Date(1_760_000_000_000)
const events = ['a', 'b', 'c'].map((messageId) => ({ messageId, type: 'track', event: 'Bought' }))

const batch = (headers: Readonly<Record<string, string>> = {}, body: unknown = events) =>
  sign('segment', { body, at, headers }, { secret })

describe('Segment', () => {
  test('without authorization believes the first event of a batch, and keeps the others without a key', () => {
    const source = segment({ secrets: [secret] })
    const identified = source.identify(batch())

    expect(source.verify(batch())).toMatchObject({ ok: true })
    expect(identified.map(({ key, type }) => [key, type])).toEqual([
      ['a', 'track.Bought'],
      [undefined, 'track.Bought'],
      [undefined, 'track.Bought'],
    ])
    expect(source.warnings).toEqual([expect.stringContaining('only the first event is signed')])
  })

  test('is not made to believe more by a header that was not configured', () => {
    const identified = segment({ secrets: [secret] }).identify(batch({ authorization }))

    expect(identified.map(({ key }) => key)).toEqual(['a', undefined, undefined])
  })

  test('with authorization believes all, and refuses who does not show it', () => {
    const source = segment({ secrets: [secret], authorization })

    expect(source.verify(batch({ authorization }))).toMatchObject({ ok: true })
    expect(source.identify(batch({ authorization })).map(({ key }) => key)).toEqual(['a', 'b', 'c'])
    expect(source.warnings).toEqual([])
    expect(source.verify(batch())).toEqual({ ok: false, reason: 'missing-header' })
    expect(source.verify(batch({ authorization: 'Bearer of-another' }))).toEqual({
      ok: false,
      reason: 'bad-token',
    })
  })

  test('authorization alone is not enough', () => {
    const source = segment({ secrets: [secret], authorization })
    const forged = batch({ authorization, 'x-signature': '0'.repeat(40) })

    expect(source.verify(forged)).toEqual({ ok: false, reason: 'bad-signature' })
  })

  test('refuses a batch whose first event was not signed, and an empty one', () => {
    const source = segment({ secrets: [secret] })
    const delivery = batch()
    const behind = JSON.stringify([events[1], events[0]])

    expect(source.verify({ ...delivery, body: Buffer.from(behind) })).toMatchObject({ ok: false })
    expect(source.verify({ ...delivery, body: Buffer.from('[]') })).toEqual({
      ok: false,
      reason: 'malformed-body',
    })
  })

  test('has no key for an event whose messageId the mapping dropped', () => {
    const [event] = segment({ secrets: [secret] }).identify(batch({}, { type: 'track' }))

    expect(event).toMatchObject({ key: undefined, type: 'track' })
  })
})
