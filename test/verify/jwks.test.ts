import { generateKeyPairSync, sign } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import type { Delivery } from '../../src/model/delivery.ts'
import { defineProvider, jwtSignature } from '../../src/providers/index.ts'
import type { JwksOptions, TextFetcher } from '../../src/providers/index.ts'
import { Jwks } from '../../src/verify/jwks.ts'

const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const newer = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const attacker = generateKeyPairSync('ec', { namedCurve: 'P-256' })

const URL = 'https://login.example.com/keys'
const HOST = /^login\.example\.com$/
const jwkOf = (kid: string, { publicKey }: { readonly publicKey: KeyObject }, more = {}) => ({
  ...publicKey.export({ format: 'jwk' }),
  kid,
  ...more,
})
const setOf = (...keys: readonly object[]) => JSON.stringify({ keys })
const thumb = (key: unknown) => (key as KeyObject).export({ format: 'jwk' }).x

/** A host that answers what `host.text` says, and fails where that is nothing. */
function hostOf(text: string | undefined) {
  const host = { text, asked: [] as string[], redirects: [] as string[], nowMs: 0 }
  const fetcher: TextFetcher = async (url, { redirect }) => {
    host.asked.push(url)
    host.redirects.push(redirect)
    await Promise.resolve()
    if (host.text === undefined) throw new Error('down')
    return { ok: host.text !== '503', text: () => Promise.resolve(host.text ?? '') }
  }
  return { host, fetcher }
}

function jwksOf(text: string | undefined) {
  const { host, fetcher } = hostOf(text)
  const times = { keptMs: 1_000, staleKeptMs: 5_000, refetchMs: 100, failedMs: 10 }
  const now = () => host.nowMs
  return { host, jwks: new Jwks({ url: URL, host: HOST, kind: 'ec', fetcher, now, ...times }) }
}

describe('a set of keys', () => {
  test('is fetched once, also for many at once, and again when it is old', async () => {
    const { host, jwks } = jwksOf(setOf(jwkOf('a', ec), jwkOf('b', newer)))

    const found = await Promise.all([jwks.find('a'), jwks.find('b'), jwks.find('a')])
    expect(found.map(thumb)).toEqual([ec, newer, ec].map(({ publicKey }) => thumb(publicKey)))
    host.nowMs = 999
    await jwks.find('a')
    expect(host.asked).toEqual([URL])
    host.nowMs = 1_000
    await jwks.find('a')
    expect(host.asked).toEqual([URL, URL])
  })

  test('is asked for again for an unknown name, and finds a new key', async () => {
    const { host, jwks } = jwksOf(setOf(jwkOf('a', ec)))
    await jwks.find('a')

    host.text = setOf(jwkOf('a', ec), jwkOf('b', newer))
    host.nowMs = 100

    expect(thumb(await jwks.find('b'))).toBe(thumb(newer.publicKey))
    expect(host.asked).toHaveLength(2)
  })

  test('is asked for once in a while, however many names strangers make up', async () => {
    const { host, jwks } = jwksOf(setOf(jwkOf('a', ec)))
    await jwks.find('a')

    host.nowMs = 99
    const names = Array.from({ length: 1_000 }, (_, index) => `made-up-${index}`)
    const early = await Promise.all(names.map((name) => jwks.find(name)))
    expect(host.asked).toHaveLength(1)
    host.nowMs = 100
    const later = await Promise.all(names.map((name) => jwks.find(name)))

    expect(host.asked).toHaveLength(2)
    expect(new Set([...early, ...later])).toEqual(new Set(['unknown-key']))
  })

  test('that cannot be fetched is a value, asked for again soon, and not at once', async () => {
    const { host, jwks } = jwksOf(undefined)

    expect(await Promise.all([jwks.find('a'), jwks.find('b')])).toEqual([
      'key-unavailable',
      'key-unavailable',
    ])
    expect(await jwks.find('a')).toBe('key-unavailable')
    expect(host.asked).toHaveLength(1)

    host.text = setOf(jwkOf('a', ec))
    host.nowMs = 10
    expect(thumb(await jwks.find('a'))).toBe(thumb(ec.publicKey))
  })

  test.each([
    ['nothing', ''],
    ['an error', '503'],
    ['no JSON', '<html>'],
    ['null', 'null'],
    ['no keys', '{"keys":[]}'],
    [
      'keys that are none',
      '{"keys":[null,1,"a",{},{"kid":"a"},{"kid":"a","kty":"oct","k":"AAAA"}]}',
    ],
    [
      'keys of another kind',
      setOf(jwkOf('a', generateKeyPairSync('rsa', { modulusLength: 2048 }))),
    ],
    ['a key that encrypts', setOf(jwkOf('a', ec, { use: 'enc' }))],
    ['a key without a name', setOf(ec.publicKey.export({ format: 'jwk' }))],
    ['too much', setOf(jwkOf('a', ec, { x5c: 'x'.repeat(300_000) }))],
  ])('is not taken from %s, and the one before stays for a while', async (_name, text) => {
    const { host, jwks } = jwksOf(setOf(jwkOf('a', ec)))
    await jwks.find('a')
    host.text = text

    host.nowMs = 4_999
    expect(thumb(await jwks.find('a'))).toBe(thumb(ec.publicKey))
    expect(await jwks.find('b')).toBe('key-unavailable')
    host.nowMs = 5_000
    expect(await jwks.find('a')).toBe('key-unavailable')
    expect(await jwksOf(text).jwks.find('a')).toBe('key-unavailable')
  })

  test('R68: that never comes, from a fetcher that knows no end, leaves the old keys', async () => {
    const { host, fetcher } = hostOf(setOf(jwkOf('a', ec)))
    let isHanging = false
    const jwks = new Jwks({
      url: URL,
      host: HOST,
      kind: 'ec',
      fetcher: (url, init) => (isHanging ? new Promise(() => undefined) : fetcher(url, init)),
      now: () => host.nowMs,
      keptMs: 1_000,
      timeoutMs: 10,
    })
    await jwks.find('a')
    isHanging = true
    host.nowMs = 100_000

    expect(thumb(await jwks.find('a'))).toBe(thumb(ec.publicKey))
  })

  test('forgets a key that the sender withdrew', async () => {
    const { host, jwks } = jwksOf(setOf(jwkOf('a', ec)))
    await jwks.find('a')
    host.text = setOf(jwkOf('b', newer))
    host.nowMs = 1_000

    expect(await jwks.find('a')).toBe('unknown-key')
  })

  test.each([
    'http://login.example.com/keys',
    'https://login.example.com.evil.example/keys',
    'https://login.example.com@evil.example/keys',
    'https://login.example.com:8443/keys',
    'https://evil.example/login.example.com',
    'keys',
  ])('is never on %s', (url) => {
    const { fetcher } = hostOf('')

    expect(() => new Jwks({ url, host: HOST, kind: 'ec', fetcher })).toThrow(TypeError)
  })
})

describe('a provider that publishes its keys', () => {
  const provider = defineProvider<JwksOptions>({
    provider: 'example',
    verify: jwtSignature({
      header: 'x-token',
      algorithm: 'ES256',
      jwks: { url: URL, host: HOST },
      ageSecondsMax: 300,
    }),
    key: 'json:$.id',
    retryWindowHours: null,
  })
  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const deliver = (head: object, { privateKey } = ec): Delivery => {
    const text = `${encode({ alg: 'ES256', ...head })}.${encode({ iat: 1_760_000_000 })}`
    const key = { key: privateKey, dsaEncoding: 'ieee-p1363' } as const
    const signature = sign('sha256', Buffer.from(text), key).toString('base64url')
    return {
      method: 'POST',
      url: '/',
      headers: { 'x-token': `${text}.${signature}` },
      body: Buffer.from('{"id":1}'),
      receivedAt: new Date(1_760_000_000_000),
    }
  }

  test('is believed with a key of the set, which is fetched without redirects', async () => {
    const { host, fetcher } = hostOf(setOf(jwkOf('a', ec)))
    const source = provider({ fetch: fetcher })

    expect(await source.verify(deliver({ kid: 'a' }))).toEqual({ ok: true, secret: 'a' })
    expect(await source.verify(deliver({ kid: 'a' }))).toEqual({ ok: true, secret: 'a' })
    expect([host.asked, host.redirects]).toEqual([[URL], ['error']])
  })

  test('is asked for its keys at no address that a token names, and a token’s own key is no key', async () => {
    const { host, fetcher } = hostOf(setOf(jwkOf('a', ec)))
    const source = provider({ fetch: fetcher })
    const forged = {
      jku: 'https://evil.example/keys',
      x5u: 'https://evil.example/cert',
      jwk: attacker.publicKey.export({ format: 'jwk' }),
    }

    const verdicts = [
      await source.verify(deliver({ kid: 'a', ...forged }, attacker)),
      await source.verify(deliver({ kid: 'https://evil.example/keys', ...forged }, attacker)),
      await source.verify(deliver(forged, attacker)),
    ]

    expect(verdicts.map((verdict) => (verdict.ok ? 'ok' : verdict.reason))).toEqual([
      'bad-signature',
      'unknown-key',
      'unknown-key',
    ])
    expect(new Set(host.asked)).toEqual(new Set([URL]))
  })

  test('whose host is down is answered as unavailable, unless the key is configured', async () => {
    const { fetcher } = hostOf(undefined)

    expect(await provider({ fetch: fetcher }).verify(deliver({ kid: 'a' }))).toEqual({
      ok: false,
      reason: 'key-unavailable',
    })
    expect(
      await provider({ fetch: fetcher, jwk: jwkOf('a', ec) }).verify(deliver({ kid: 'a' })),
    ).toEqual({ ok: true, secret: 'a' })
  })

  test('takes no fetchKey, and no key that is none', () => {
    const refusal = expect.objectContaining({ code: 'OPTION_INVALID' })

    expect(() => provider({ fetchKey: () => undefined } as never)).toThrow(refusal)
    expect(() => provider({ jwk: { kty: 'oct', k: 'AAAA' } })).toThrow(refusal)
  })
})
