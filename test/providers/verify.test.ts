import { createHmac } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { standardWebhooks, stripe } from '../../src/providers/index.ts'
import { sign } from '../../src/testing/index.ts'
import {
  delivery,
  headerOf,
  NOW,
  OTHER_SECRET,
  SECRET,
  SIGNED_SOURCES,
  TIMED_SOURCES,
  verdictOf,
  withHeaders,
} from './signed-sources.ts'

const BAD_SIGNATURE = { ok: false, reason: 'bad-signature' }

describe.each(SIGNED_SOURCES)('$name', ({ header, source, deliver }) => {
  test('believes a delivery signed with its secret, and says which', () => {
    expect(verdictOf(source(), deliver())).toEqual({ ok: true, secret: '1' })
  })

  test('refuses a changed body', () => {
    const signed = deliver()
    const body = Buffer.concat([signed.body, Buffer.from(' ')])

    expect(verdictOf(source(), { ...signed, body })).toEqual(BAD_SIGNATURE)
  })

  test('refuses a delivery without its signature', () => {
    const unsigned = withHeaders(deliver(), { [header]: undefined })

    expect(verdictOf(source(), unsigned)).toEqual({ ok: false, reason: 'missing-header' })
  })

  test('R23: refuses the signature of a source with another secret', () => {
    expect(verdictOf(source(), deliver({ secret: OTHER_SECRET }))).toEqual(BAD_SIGNATURE)
  })

  test('believes each of several secrets, and says which by its label', () => {
    const rotating = source([OTHER_SECRET, { value: SECRET, label: 'new' }])

    expect(verdictOf(rotating, deliver())).toEqual({ ok: true, secret: 'new' })
    expect(verdictOf(rotating, deliver({ secret: OTHER_SECRET }))).toEqual({
      ok: true,
      secret: '1',
    })
  })

  test('refuses an old secret after its end', () => {
    const until = new Date(NOW.getTime() - 1)
    const rotated = source([{ value: SECRET, until }, OTHER_SECRET])

    expect(verdictOf(rotated, deliver())).toEqual(BAD_SIGNATURE)
    expect(verdictOf(source([{ value: SECRET, until: NOW }]), deliver())).toEqual({
      ok: true,
      secret: '1',
    })
  })

  test.each([
    '',
    'v1,',
    't=1760000000,v1=',
    'v=',
    'sha256=',
    'sha1=90009ec6e70cd7dcad6f9969a5a08a2a7ce4443b',
    'é',
    '\u{1f4a9}',
  ])('R31: refuses %j for a signature', (text) => {
    expect(verdictOf(source(), withHeaders(deliver(), { [header]: text })).ok).toBe(false)
  })

  test('R31: refuses every prefix of the signature, and the signature with more behind it', () => {
    const signed = deliver()
    const signature = headerOf(signed, header)
    const spoilt = [
      ...Array.from({ length: signature.length }, (_, i) => signature.slice(0, i)),
      `${signature}A`,
    ]

    const verdicts = spoilt.map(
      (text) => verdictOf(source(), withHeaders(signed, { [header]: text })).ok,
    )

    expect(verdicts).not.toContain(true)
  })

  test.each([
    ['white space', '{ "id" :  "evt_1" }'],
    ['key order', '{"type":"a","id":"evt_1"}'],
    ['1.0', '{"amount":1.0}'],
    ['an escaped é', '{"name":"caf\\u00e9"}'],
    ['a plain é', '{"name":"café"}'],
    ['CRLF', '{\r\n"id":1\r\n}\r\n'],
    ['duplicate keys', '{"id":1,"id":2}'],
    ['invalid UTF-8', Buffer.from([0x7b, 0xff, 0xfe, 0x7d])],
    ['a byte order mark', '\ufeff{}'],
    ['nothing at all', ''],
  ])('R34: believes the bytes as they are, with %s', (_, body) => {
    expect(verdictOf(source(), deliver({ body })).ok).toBe(true)
  })

  test('R34: refuses other bytes that mean the same JSON', () => {
    const signed = deliver({ body: '{"id":"evt_1","name":"caf\\u00e9","n":1.0}' })
    const body = Buffer.from(JSON.stringify(JSON.parse(Buffer.from(signed.body).toString())))

    expect(verdictOf(source(), { ...signed, body })).toEqual(BAD_SIGNATURE)
  })

  test('asks for one value of every header it reads', () => {
    expect(source().securityHeaders).toContain(header)
    const read = new Set<string>()
    const signed = deliver()
    const headers = new Proxy(signed.headers, {
      getOwnPropertyDescriptor: (target, name) => {
        read.add(String(name))
        return Reflect.getOwnPropertyDescriptor(target, name)
      },
    })

    verdictOf(source(), { ...signed, headers })
    source().identify({ ...signed, headers })

    expect(read.size).toBeGreaterThan(0)
    expect([...read].filter((name) => !source().securityHeaders.includes(name))).toEqual([])
  })
})

describe.each(TIMED_SOURCES)('$name and time', ({ name, source, deliverAt }) => {
  test('R26: an exact replay is believed inside the window on both sides, and stale after it', () => {
    const captured = deliverAt('1760000000')
    const replay = (seconds: number) =>
      verdictOf(source(), { ...captured, receivedAt: new Date(NOW.getTime() + seconds * 1000) })

    for (let i = 0; i < 100; i++) expect(replay(i * 3)).toEqual({ ok: true, secret: '1' })
    expect(replay(300).ok).toBe(true)
    expect(replay(301)).toEqual({ ok: false, reason: 'stale' })
    expect(replay(-300).ok).toBe(true)
    expect(replay(-301)).toEqual({ ok: false, reason: 'stale' })
  })

  test.each([
    'abc',
    '',
    '0x10',
    '1e3',
    '1700000000junk',
    '-1760000000',
    '9223372036854775808',
    '1760000000 ',
    '+1760000000',
    'NaN',
  ])('R30: a signed timestamp %j is malformed', (timestamp) => {
    expect(verdictOf(source(), deliverAt(timestamp))).toEqual({
      ok: false,
      reason: 'malformed-timestamp',
    })
  })

  test('R30: milliseconds are no seconds', () => {
    expect(verdictOf(source(), deliverAt('1760000000000'))).toEqual({
      ok: false,
      reason: 'malformed-timestamp',
    })
  })

  test('R30: two values are refused', () => {
    expect(verdictOf(source(), deliverAt('1760000000,t=1760000000')).ok).toBe(false)
  })

  test('R30: a missing timestamp is refused', () => {
    const signed = deliverAt('1760000000')
    const header = name === 'standardWebhooks' ? 'webhook-timestamp' : 'x-timestamp'
    const untimed =
      name === 'stripe'
        ? withHeaders(signed, {
            'stripe-signature': headerOf(signed, 'stripe-signature').replace('t=1760000000,', ''),
          })
        : withHeaders(signed, { [header]: undefined })

    const reason = name === 'stripe' ? 'malformed-header' : 'missing-header'
    expect(verdictOf(source(), untimed)).toEqual({ ok: false, reason })
  })

  test('a forged delivery is never called stale: the signature is judged first', () => {
    const forged = { ...deliverAt('1600000000'), body: Buffer.from('[]') }

    expect(verdictOf(source(), forged)).toEqual(BAD_SIGNATURE)
    expect(verdictOf(source(), deliverAt('1600000000'))).toEqual({ ok: false, reason: 'stale' })
  })

  test('a delivery received at no time at all is refused', () => {
    expect(
      verdictOf(source(), { ...deliverAt('1760000000'), receivedAt: new Date(Number.NaN) }).ok,
    ).toBe(false)
  })
})

describe('several signatures in one header', () => {
  const good = createHmac('sha256', SECRET).update('1760000000.{}').digest('hex')
  const wrong = '0'.repeat(64)
  const signedBy = (...signatures: readonly string[]) =>
    verdictOf(
      stripe({ secrets: [SECRET] }),
      delivery({ 'stripe-signature': ['t=1760000000', ...signatures].join(',') }),
    ).ok

  test('any of the first eight may hold, and entries of other schemes do not count', () => {
    expect(signedBy(...Array<string>(7).fill(`v1=${wrong}`), `v1=${good}`)).toBe(true)
    expect(signedBy(...Array<string>(20).fill(`v0=${wrong}`), `v1=${good}`)).toBe(true)
  })

  test('R31: a ninth is not tried', () => {
    expect(signedBy(...Array<string>(8).fill(`v1=${wrong}`), `v1=${good}`)).toBe(false)
  })

  test('R31: ten thousand are refused, and so is v0 alone', () => {
    expect(signedBy(...Array<string>(10_000).fill(`v1=${wrong}`), `v1=${good}`)).toBe(false)
    expect(signedBy(`v0=${good}`)).toBe(false)
  })

  test('R31: a ninth of Standard Webhooks is not tried', () => {
    const source = standardWebhooks({ secrets: [SECRET] })
    const signed = sign('standardWebhooks', { at: NOW }, { secret: SECRET })
    const signature = headerOf(signed, 'webhook-signature')
    const behind = (count: number) =>
      withHeaders(signed, {
        'webhook-signature': `${`v1,${'A'.repeat(43)}= `.repeat(count)}${signature}`,
      })

    expect(verdictOf(source, behind(7)).ok).toBe(true)
    expect(verdictOf(source, behind(8)).ok).toBe(false)
  })
})

describe('R30: two timestamps in the header of Stripe', () => {
  test('are refused, whichever of them was signed', () => {
    const good = createHmac('sha256', SECRET).update('1760000000.{}').digest('hex')
    const timed = (...times: readonly string[]) =>
      verdictOf(
        stripe({ secrets: [SECRET] }),
        delivery({
          'stripe-signature': `${times.map((time) => `t=${time}`).join(',')},v1=${good}`,
        }),
      )

    expect(timed('1760000000').ok).toBe(true)
    expect(timed('1760000000', '1700000000')).toEqual({ ok: false, reason: 'malformed-header' })
    expect(timed('1700000000', '1760000000')).toEqual({ ok: false, reason: 'malformed-header' })
  })
})

describe('R20: dots in a webhook-id', () => {
  const source = standardWebhooks({ secrets: [SECRET] })
  const key = Buffer.from(SECRET.slice(6), 'base64')

  test('are believed where they cannot be mistaken, and make ids of their own', () => {
    const dotted = sign('standardWebhooks', { at: NOW, key: 'order.42.paid' }, { secret: SECRET })

    expect(verdictOf(source, dotted).ok).toBe(true)
    expect(source.identify(dotted)[0]?.key).toBe('order.42.paid')
  })

  test('cannot make one signature two deliveries', () => {
    const sent = { id: 'msg', timestamp: '1760000000', body: '1760000100.{"type":"forged"}' }
    const signed = `${sent.id}.${sent.timestamp}.${sent.body}`
    const signature = `v1,${createHmac('sha256', key).update(signed).digest('base64')}`
    const read = (id: string, timestamp: string, body: string) =>
      verdictOf(
        source,
        delivery(
          { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signature },
          body,
        ),
      )

    expect(read(sent.id, sent.timestamp, sent.body).ok).toBe(true)
    expect(read('msg.1760000000', '1760000100', '{"type":"forged"}')).toEqual({
      ok: false,
      reason: 'malformed-header',
    })
  })

  test('an id beyond what HTTP can carry is refused, since its bytes could be those of another', () => {
    const signature = `v1,${createHmac('sha256', key).update('株.1760000000.{}').digest('base64')}`
    const read = (id: string) =>
      verdictOf(
        source,
        delivery({
          'webhook-id': id,
          'webhook-timestamp': '1760000000',
          'webhook-signature': signature,
        }),
      )

    expect(read('株')).toEqual({ ok: false, reason: 'malformed-header' })
    expect(read(Buffer.from('株').toString('latin1')).ok).toBe(true)
  })
})

describe('Ed25519 signatures', () => {
  test('do not count for a source that has only secrets', () => {
    const signed = sign('standardWebhooks', { at: NOW }, { secret: SECRET })
    const v1a = withHeaders(signed, {
      'webhook-signature': headerOf(signed, 'webhook-signature').replace('v1,', 'v1a,'),
    })

    expect(verdictOf(standardWebhooks({ secrets: [SECRET] }), v1a)).toEqual(BAD_SIGNATURE)
  })
})
