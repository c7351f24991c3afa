import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { figma, mailgun, segment, twilio } from '../../src/providers/index.ts'
import { sign } from '../../src/testing/index.ts'
import { ClaimedJson, testElements } from '../../src/body/claimed-json.ts'
import { JsonBody } from '../../src/body/json-body.ts'

const name = fc.constantFrom('a', 'b', 'é', 'a"b', '', 'a\\b', '__proto__')
const value = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.boolean(),
  fc.constant(null),
  fc.array(fc.integer(), { maxLength: 3 }),
  fc.dictionary(name, fc.oneof(fc.string(), fc.integer(), fc.constant({})), { maxKeys: 3 }),
)

/** Members as text, names that come twice and letters that are escaped included. */
const member = fc
  .tuple(name, value, fc.boolean(), fc.constantFrom('', ' ', '\n\t'))
  .map(([key, of, isEscaped, space]) => {
    const plain = JSON.stringify(key)
    const escaped = plain.replace(/^"a/, '"\\u0061')
    return `${space}${isEscaped ? escaped : plain}${space}:${space}${JSON.stringify(of)}${space}`
  })
const object = fc.array(member, { maxLength: 8 }).map((members) => `{${members.join(',')}}`)

describe('what a body claims', () => {
  test('is what JSON.parse reads of it', () => {
    fc.assert(
      fc.property(object, name, name, (text, first, second) => {
        const bytes = Buffer.from(text)
        const claimed = ClaimedJson.find(bytes)
        const json = JsonBody.find(bytes)
        for (const path of [[first], [first, second]]) {
          const parsed = json?.findValue(path)
          const isScalar = parsed === null || !['object', 'undefined'].includes(typeof parsed)
          // Of an object or a list it is known that it is there.
          const isNested = parsed !== undefined && !isScalar
          expect(claimed?.findValue(path)).toEqual(isNested ? {} : parsed)
          expect(claimed?.findText(path)).toBe(json?.findText(path))
        }
        expect(claimed?.isConfirmed()).toBe(true)
      }),
      { numRuns: 2_000 },
    )
  })

  test('never throws, whatever the bytes are', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), (noise) => {
        const bytes = Buffer.concat([Buffer.from('{"a":'), noise])
        ClaimedJson.find(bytes)?.findText(['a', 'b'])
        testElements(bytes, 'a', [['b']], () => true)
      }),
      { numRuns: 2_000 },
    )
  })

  test.each([
    ['is cut off', '{"a":"x"'],
    ['goes on behind its end', '{"a":"x"} {'],
    ['has something else that is no JSON', '{"a":"x","b":[1,}'],
  ])('is not confirmed by a body that %s', (_what, text) => {
    const bytes = Buffer.from(text)

    expect(ClaimedJson.find(bytes)?.findText(['a'])).toBe('x')
    expect(ClaimedJson.isConfirmed(bytes)).toBe(false)
  })

  test.each(['"a&b=c"', '123', 'true'])('is not confirmed by %s, taken for a form', (text) => {
    const bytes = Buffer.from(text)

    expect(ClaimedJson.find(bytes)).toBeUndefined()
    expect(ClaimedJson.isConfirmed(bytes)).toBe(false)
  })

  test('is nothing where there are more members than any sender has', () => {
    const many = Array.from({ length: 1_001 }, (_, n) => `"m${n}":1`).join(',')

    expect(ClaimedJson.find(Buffer.from(`{"a":"x",${many}}`))?.findText(['a'])).toBeUndefined()
    expect(ClaimedJson.find(Buffer.from(`{"o":{"a":"x",${many}}}`))?.findText(['o', 'a'])).toBe(
      undefined,
    )
  })

  test.each(['&a=b', 'text', '"text"', '1', '', ' \n'])('is nothing of %j', (text) => {
    expect(ClaimedJson.find(Buffer.from(text))).toBeUndefined()
  })
})

describe('the elements of a list', () => {
  const of = (elements: string) => Buffer.from(`{"x":{"value":[1]},"value":[${elements}]}`)

  test.each([
    ['', 'none', []],
    ['{"t":"a"},{"t":"a"}', 'holds', ['a', 'a']],
    ['{"t":"a"},{"t":"b"},{"t":"a"}', 'fails', ['a', 'b']],
    ['{"t":"a","t":"b"}', 'fails', ['b']],
    ['{"t":"b","t":"a"}', 'holds', ['a']],
    ['{"o":{"t":"a"}}', 'fails', [undefined]],
    ['1', 'fails', [undefined]],
    ['{"t":{"t":"a"}}', 'fails', [undefined]],
  ])('[%s]: the test %s', (elements, outcome, seen) => {
    const texts: unknown[] = []

    const found = testElements(of(elements), 'value', [['t']], ([text]) => {
      texts.push(text)
      return text === 'a'
    })

    expect(found).toBe(outcome)
    expect(texts).toEqual(seen)
  })

  test('are looked at no further than the first that fails', () => {
    let seen = 0
    const elements = Array(10_000).fill('{"t":"b"}').join(',')

    testElements(of(elements), 'value', [['t']], () => {
      seen += 1
      return false
    })

    expect(seen).toBe(1)
  })
})

const refused = { ok: false, reason: 'malformed-body' }

describe('R64: a body that is a form and JSON', () => {
  const secret = 'a secret of some length'

  test('is refused by Twilio: 123 is the field 123, and 1=23 has the same signature', async () => {
    const publicUrl = 'https://example.com/webhooks/twilio'
    const source = twilio({ secrets: [secret], publicUrl })
    const form = sign('twilio', { body: { 1: '23' } }, { secret, publicUrl })

    expect(await source.verify(form)).toMatchObject({ ok: true })
    expect(await source.verify({ ...form, body: Buffer.from('123') })).toEqual(refused)
  })

  test('is refused by Mailgun: of a text in quotes the fields are signed', async () => {
    const source = mailgun({ secrets: [secret] })
    const form = sign('mailgun', { type: 'inbound' }, { secret })
    const text = Buffer.from(form.body).toString()

    expect(await source.verify(form)).toMatchObject({ ok: true })
    expect(await source.verify({ ...form, body: Buffer.from(`"&${text}&"`) })).toEqual(refused)
  })
})

describe('R64: a body that shows the secret, or is signed, and is no JSON', () => {
  test.each([
    '{"passcode":"a passcode of some length","x":[1,}',
    '{"passcode":"a passcode of some length"',
  ])('is refused for a token in it: %s', async (text) => {
    const source = figma({ secrets: ['a passcode of some length'] })
    const delivery = sign('figma', {}, { secret: 'a passcode of some length' })

    expect(await source.verify({ ...delivery, body: Buffer.from(text) })).toEqual(refused)
  })

  test('is refused behind a first event that is signed', async () => {
    const secret = 'a secret of some length'
    const event = '{"messageId":"1","type":"track"}'
    const signed = sign('segment', { body: event }, { secret })
    const source = segment({ secrets: [secret] })
    const deliver = (text: string) => source.verify({ ...signed, body: Buffer.from(text) })

    expect(await deliver(`[${event},{}]`)).toMatchObject({ ok: true })
    expect(await deliver(`[${event},{]`)).toEqual(refused)
    expect(await deliver(`[${event}`)).toEqual(refused)
  })
})
