import { createHmac } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import type { Delivery } from '../../../src/model/delivery.ts'
import { contentful } from '../../../src/providers/index.ts'

const SECRET = 'a1b2c3d4e5f60718'.repeat(4)
const NOW = 1_760_000_000_000
const OWN = 'x-contentful-signed-headers,x-contentful-timestamp'

interface Change {
  readonly list?: string
  readonly lines?: string
  readonly path?: string
  readonly method?: string
  readonly body?: string
  readonly headers?: Readonly<Record<string, string>>
}

/** Signed as written here, by hand. */
function deliver({
  list = OWN,
  lines = `x-contentful-signed-headers:${list};x-contentful-timestamp:${NOW}`,
  path = '/hooks',
  method = 'POST',
  body = '{}',
  headers = {},
}: Change = {}): Delivery {
  const text = [method, path, lines, body].join('\n')
  return {
    method,
    url: '/',
    headers: {
      'x-contentful-signature': createHmac('sha256', SECRET).update(text).digest('hex'),
      'x-contentful-signed-headers': list,
      'x-contentful-timestamp': String(NOW),
      'x-contentful-idempotency-key': 'af2b',
      ...headers,
    },
    body: Buffer.from(body),
    receivedAt: new Date(NOW),
  }
}

const sourceOf = (publicUrl = 'https://example.com/hooks') =>
  contentful({ secrets: [SECRET], publicUrl })
const verify = (change: Change, publicUrl?: string) => sourceOf(publicUrl).verify(deliver(change))

describe('Contentful', () => {
  test('believes the headers that the list names, in the order of their names', () => {
    const list = `a,${OWN},z`
    const lines = `a:1;x-contentful-signed-headers:${list};x-contentful-timestamp:${NOW};z:é b`

    expect(verify({ list, lines, headers: { a: ' 1 ', z: 'é b' } })).toMatchObject({ ok: true })
    expect(verify({ list, lines, headers: { a: '2', z: 'é b' } })).toMatchObject({ ok: false })
    expect(verify({ list, lines, headers: { a: '1' } })).toEqual({
      ok: false,
      reason: 'missing-header',
    })
  })

  test.each([
    ['', 'malformed-header'],
    ['x-contentful-timestamp', 'malformed-header'],
    ['x-contentful-signed-headers', 'malformed-header'],
    [`${OWN},__proto__`, 'missing-header'],
    [`${OWN},`, 'malformed-header'],
    [OWN.toUpperCase(), 'malformed-header'],
    [OWN.replace(',', ', '), 'malformed-header'],
  ])('refuses the list %j, though it is signed', (list, reason) => {
    expect(verify({ list })).toEqual({ ok: false, reason })
  })

  test('believes the list in any order, as its library does, and no name twice', () => {
    const list = OWN.split(',').reverse().join(',')
    const lines = `x-contentful-signed-headers:${OWN};x-contentful-timestamp:${NOW}`

    expect(verify({ list, lines })).toMatchObject({ ok: true })
    expect(verify({ list: `${OWN},x-contentful-timestamp`, lines })).toMatchObject({ ok: false })
  })

  test.each([
    ['https://example.com', '/'],
    ['https://example.com/a%20b', '/a%2520b'],
    ['https://example.com/a?x=1&y=a b', '/a?x%253D1%2526y%253Da%252520b'],
    ['https://example.com/a?', '/a'],
    ['https://example.com:8443/a#part', '/a'],
  ])('signs %s as %s', (publicUrl, path) => {
    expect(verify({ path }, publicUrl)).toMatchObject({ ok: true })
    expect(verify({ path: `${path}x` }, publicUrl)).toMatchObject({ ok: false })
  })

  test('never takes the path from the request', () => {
    const delivery = { ...deliver({ path: '/other' }), url: '/other' }

    expect(sourceOf().verify(delivery)).toEqual({ ok: false, reason: 'bad-signature' })
  })

  test('believes a DELETE without a body, and not as a POST', () => {
    const delivery = deliver({
      method: 'DELETE',
      body: '',
      headers: { 'x-contentful-topic': 'ContentManagement.Entry.delete' },
    })

    expect(sourceOf().verify(delivery)).toMatchObject({ ok: true })
    expect(sourceOf().verify({ ...delivery, method: 'POST' })).toMatchObject({ ok: false })
    expect(sourceOf().identify(delivery)).toEqual([
      { key: 'af2b', type: 'ContentManagement.Entry.delete' },
    ])
    expect(sourceOf().methods).toContain('DELETE')
  })

  test('takes a request for less than half a minute', () => {
    const at = (ms: number) => sourceOf().verify({ ...deliver(), receivedAt: new Date(NOW + ms) })

    expect(at(29_999)).toMatchObject({ ok: true })
    expect(at(30_000)).toEqual({ ok: false, reason: 'stale' })
    expect(at(-30_001)).toEqual({ ok: false, reason: 'stale' })
  })

  test('has a secret of exactly 64 characters, and a signature in small letters', () => {
    const refusal = expect.objectContaining({ code: 'OPTION_INVALID' })
    const publicUrl = 'https://example.com/hooks'
    const delivery = deliver()
    const signature = delivery.headers['x-contentful-signature'] as string
    const headers = { ...delivery.headers, 'x-contentful-signature': signature.toUpperCase() }

    expect(() => contentful({ secrets: [SECRET.slice(1)], publicUrl })).toThrow(refusal)
    expect(() => contentful({ secrets: [SECRET] } as never)).toThrow(refusal)
    expect(sourceOf().verify({ ...delivery, headers })).toMatchObject({ ok: false })
  })

  test('quarantines the same bytes under another key, which need not be signed', () => {
    expect(sourceOf().sameBytes).toBe('quarantine')
  })
})
