import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { JsonBody } from '../../src/body/json-body.ts'
import { compileLocator, compileLocators, findJsonPath, Reading } from '../../src/body/json-path.ts'

function reading(body: string | Uint8Array, headers: Record<string, string> = {}): Reading {
  return new Reading({
    method: 'POST',
    url: '/',
    headers,
    body: Buffer.from(body as string),
    receivedAt: new Date(0),
  })
}

function find(locator: string, body: string | Uint8Array): string | undefined {
  return compileLocator('key', locator).find(reading(body))
}

describe('a key in the JSON body', () => {
  test.each([
    ['json:$.id', '{"id":"evt_1"}', 'evt_1'],
    ['json:$.a.b[1].c', '{"a":{"b":[{"c":"x"},{"c":"y"}]}}', 'y'],
    ['json:$[0]', '[7]', '7'],
    ['json:$', '"alone"', 'alone'],
    ['json:$.id', ' { "x" : [ "}" , "\\"]" ] , "id" : -1.50e+3 } ', '-1.50e+3'],
    ['json:$.id', '{"id":true}', 'true'],
    ['json:$.id', '{"id":"caf\\u00e9"}', 'café'],
    ['json:$.é', '{"é":1}', '1'],
    ['json:$.__proto__', '{"__proto__":"own"}', 'own'],
  ])('%s of %s is %j', (locator, body, expected) => {
    expect(find(locator, body)).toBe(expected)
  })

  test.each([
    ['9007199254740993', '9007199254740993'],
    ['820982911946154508', '820982911946154508'],
    ['1e400000', '1e400000'],
  ])('keeps the number %s exact', (number, expected) => {
    expect(find('json:$.data[1].id', `{"data":[{"id":1},{"id":${number}}]}`)).toBe(expected)
  })

  test('is the last of two with one name, as JSON.parse has it, even if escaped', () => {
    expect(find('json:$.id', '{"id":"first","id":"last"}')).toBe('last')
    expect(find('json:$.id', '{"id":1,"\\u0069d":9007199254740993}')).toBe('9007199254740993')
    expect(find('json:$.a.id', '{"a":{"id":1},"a":{"id":2}}')).toBe('2')
    expect(find('json:$.a.id', '{"a":{"id":1},"a":{}}')).toBeUndefined()
  })

  test.each([
    ['missing', '{}'],
    ['empty', '{"id":""}'],
    ['null', '{"id":null}'],
    ['an object', '{"id":{}}'],
    ['a list', '{"id":["x"]}'],
    ['in something that is no object', '[]'],
    ['in nothing', ''],
    ['in broken JSON', '{"id":"evt_1"'],
    ['behind a byte order mark', '\ufeff{"id":"evt_1"}'],
    ['in invalid UTF-8', Buffer.from([...Buffer.from('{"id":"'), 0xff, ...Buffer.from('"}')])],
  ])('is not there when it is %s', (_, body) => {
    expect(find('json:$.id', body)).toBeUndefined()
  })

  test.each([
    ['constructor', '{}'],
    ['__proto__', '{}'],
    ['length', '[1]'],
    ['0', '["x"]'],
    ['length', '"text"'],
  ])('is never what is not in the text: %s of %s', (name, body) => {
    expect(find(`json:$.${name}`, body)).toBeUndefined()
    expect(JsonBody.find(Buffer.from(body))?.findValue([name])).toBeUndefined()
  })

  test('is found behind 20 000 levels, and looking costs no stack', () => {
    const deep = '['.repeat(20_000) + ']'.repeat(20_000)

    expect(find('json:$.id', `{"deep":${deep},"id":7}`)).toBe('7')
    expect(find('json:$.id', deep)).toBeUndefined()
    expect(find(`json:$${'[0]'.repeat(500)}`, `${'['.repeat(500)}7${']'.repeat(500)}`)).toBe('7')
  })

  test('agrees with JSON.parse on any JSON', () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.string(), fc.jsonValue()),
        fc.integer({ min: 0, max: 3 }),
        (value, indent) => {
          const json = JsonBody.find(Buffer.from(JSON.stringify(value, null, indent)))
          for (const [name, member] of Object.entries(value)) {
            if (typeof member !== 'number') continue
            expect(json?.findText([name])).toBe(JSON.stringify(member))
          }
        },
      ),
    )
  })

  test('never throws, whatever the bytes and the path', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.uint8Array(),
          fc.json().map((text) => Buffer.from(text)),
        ),
        fc.array(fc.oneof(fc.string(), fc.nat(5))),
        (bytes, path) => {
          const text = JsonBody.find(bytes)?.findText(path)
          expect(text).not.toBe('')
        },
      ),
    )
  })
})

describe('other places of a key', () => {
  test('a header, whatever the case of its name in the option', () => {
    expect(compileLocator('key', 'header:X-Id').find(reading('', { 'x-id': 'e1' }))).toBe('e1')
  })

  test('an empty header is no key', () => {
    expect(compileLocator('key', 'header:x-id').find(reading('', { 'x-id': '' }))).toBeUndefined()
  })

  test('the hash of the body', () => {
    const sha256 = createHash('sha256').update('x').digest('hex')

    expect(find('body', 'x')).toBe(`body_${sha256}`)
  })

  test('a list is one for each', () => {
    const locators = compileLocators('key', ['json:$.id', 'header:x-id', 'body'])

    const found = locators.map((locator) => locator.find(reading('{"id":""}', { 'x-id': 'b' })))
    expect(found).toEqual([undefined, 'b', expect.stringMatching(/^body_[0-9a-f]{64}$/)])
  })

  test.each([
    '',
    'id',
    '$.id',
    'json:',
    'json:id',
    'json:$.',
    'json:$..id',
    'json:$[x]',
    'json:$.a[',
    'json:$[-1]',
    'header:',
    'header:a b',
    'Body',
    [],
    ['json:'],
    42,
    undefined,
  ])('%j is refused', (text) => {
    expect(() => compileLocators('hmac.key', text)).toThrow(
      expect.objectContaining({ code: 'OPTION_INVALID' }),
    )
  })

  test('a path is names and places', () => {
    expect(findJsonPath('$.a-b[12].c d')).toBeUndefined()
    expect(findJsonPath('$.a-b[12].c_d')).toEqual(['a-b', 12, 'c_d'])
  })
})

describe('a body without its volatile members', () => {
  test('is the same whatever they hold, and keeps every other byte', () => {
    const rest = (n: string) =>
      Buffer.from(`{"a" : 1,"pending_webhooks":${n} ,"b":{"pending_webhooks":7}}`)
    const cut = (bytes: Buffer) =>
      Buffer.from(JsonBody.find(bytes)?.findBytesWithout([['pending_webhooks']]) ?? []).toString()

    expect(cut(rest('1'))).toBe('{"a" : 1,"pending_webhooks": ,"b":{"pending_webhooks":7}}')
    expect(cut(rest('10'))).toBe(cut(rest('1')))
  })

  test('stays JSON with something in their place, in all of several equal names', () => {
    const bytes = Buffer.from('{"passcode":"a","b":[1],"pass\\u0063ode":"b"}')
    const stored = JsonBody.find(bytes)?.findBytesWithout([['passcode']], '""')

    expect(Buffer.from(stored ?? []).toString()).toBe('{"passcode":"","b":[1],"pass\\u0063ode":""}')
  })

  test('is not made when there are none', () => {
    expect(JsonBody.find(Buffer.from('{"a":{"x":1}}'))?.findBytesWithout([['x']])).toBeUndefined()
    expect(JsonBody.find(Buffer.from('[1]'))?.findBytesWithout([['x']])).toBeUndefined()
  })
})
