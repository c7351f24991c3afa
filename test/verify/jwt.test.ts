import { createHmac, createSecretKey, generateKeyPairSync, sign } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { isJwtInTime, isJwtSignedBy, parseJwt } from '../../src/verify/jwt.ts'
import type { JwtAlgorithm, ParsedJwt } from '../../src/verify/jwt.ts'

const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const secret = createSecretKey(Buffer.from('a secret of ours'))

function es256(head: object = { alg: 'ES256' }): string {
  const text = `${encode(head)}.${encode({ iat: 1 })}`
  const options = { key: ec.privateKey, dsaEncoding: 'ieee-p1363' } as const
  return `${text}.${sign('sha256', Buffer.from(text), options).toString('base64url')}`
}

function judge(token: string, algorithm: JwtAlgorithm, key = ec.publicKey): boolean {
  const parsed = parseJwt(token, algorithm)
  return typeof parsed !== 'string' && isJwtSignedBy(parsed, algorithm, key)
}

describe('a token', () => {
  test('is believed under the configured algorithm and key', () => {
    expect(judge(es256(), 'ES256')).toBe(true)
  })

  test.each([
    ['alg none', `${encode({ alg: 'none' })}.${encode({})}.`],
    ['alg none with a signature', es256({ alg: 'none' })],
    ['an algorithm in other letters', es256({ alg: 'es256' })],
    ['an extension that must be understood', es256({ alg: 'ES256', crit: ['b64'] })],
    ['two parts', es256().split('.').slice(0, 2).join('.')],
    ['four parts', `${es256()}.x`],
    ['padding inside', es256().replace('.', '=.')],
    ['nothing', ''],
  ])('with %s is refused', (_name, token) => {
    expect(judge(token, 'ES256')).toBe(false)
  })

  test('that makes the public key a shared secret is refused', () => {
    const pem = ec.publicKey.export({ format: 'pem', type: 'spki' })
    const text = `${encode({ alg: 'HS256' })}.${encode({})}`
    const forged = `${text}.${createHmac('sha256', pem).update(text).digest('base64url')}`

    expect(judge(forged, 'ES256')).toBe(false)
    expect(judge(forged, 'HS256')).toBe(false)
    expect(judge(es256(), 'HS256', secret)).toBe(false)
  })

  test('of any text is judged without a throw', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        expect(judge(text, 'ES256')).toBe(false)
        expect(judge(`${encode({ alg: 'ES256' })}.${text}.${text}`, 'ES256')).toBe(false)
      }),
    )
  })

  test.each<[string, ParsedJwt['claims'], number | undefined, boolean]>([
    ['no times', {}, undefined, true],
    ['no iat where an age is asked for', {}, 300, false],
    ['an iat at the edge', { iat: 700 }, 300, true],
    ['an iat past the edge', { iat: 699 }, 300, false],
    ['an iat in the far future', { iat: 1302 }, undefined, false],
    ['an exp that is over', { exp: 699 }, undefined, false],
    ['an nbf to come', { nbf: 1301 }, undefined, false],
    ['an exp that is no number', { exp: '9999' }, undefined, false],
    ['an iat that is no number', { iat: null }, 300, false],
  ])('with %s', (_name, claims, ageSecondsMax, expected) => {
    expect(isJwtInTime(claims, 1_000_000, { leewaySeconds: 300, ageSecondsMax })).toBe(expected)
  })
})
