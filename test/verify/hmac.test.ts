import { describe, expect, test } from 'vitest'
import { hmacSigner, isEqual, SIGNATURES_TRIED_MAX } from '../../src/verify/hmac.ts'
import type { HmacAlgorithm } from '../../src/verify/hmac.ts'
import { resolveSecrets } from '../../src/verify/secrets.ts'

const { secrets } = resolveSecrets('test', ['Jefe'], 'utf8')
const SIGNED = ['what do ya want ', Buffer.from('for nothing?')]
/** The second test case of RFC 2202 and of RFC 4231. */
const DIGESTS: Readonly<Record<HmacAlgorithm, string>> = {
  sha1: 'effcdf6ae5eb2fa2d27416d5f184df9c259a7c79',
  sha256: '5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843',
  sha512:
    '164b7a7bfcf819e2e395fbe73b56e0a387bd64222e831fd610270cd7ea2505549758bf75c05a994a6d034f65f8f0e6fdcaeab1a34d4a6b4b636e070a38bce737',
}

describe.each(['sha1', 'sha256', 'sha512'] as const)('HMAC with %s', (algorithm) => {
  const hex = DIGESTS[algorithm]

  test.each(['hex', 'base64', 'base64url'] as const)(
    'holds for a published digest in %s',
    (encoding) => {
      const signature = Buffer.from(hex, 'hex').toString(encoding)

      expect(
        hmacSigner(secrets, { algorithm, encoding })({ signatures: [signature] }, SIGNED, 0),
      ).toBe('1')
    },
  )

  test('does not hold for a digest of another algorithm', () => {
    const others = Object.values(DIGESTS).filter((one) => one !== hex)

    expect(
      hmacSigner(secrets, { algorithm, encoding: 'hex' })({ signatures: others }, SIGNED, 0),
    ).toBeUndefined()
  })
})

describe('a signature', () => {
  const find = (signatures: readonly string[]) =>
    hmacSigner(secrets, { algorithm: 'sha256', encoding: 'hex' })({ signatures }, SIGNED, 0)

  test('R31: past the eighth is not tried', () => {
    const junk = Array<string>(SIGNATURES_TRIED_MAX - 1).fill('junk')

    expect(find([...junk, DIGESTS.sha256])).toBe('1')
    expect(find([...junk, 'junk', DIGESTS.sha256])).toBeUndefined()
  })

  test('holds under no secret when there is none', () => {
    const none = hmacSigner([], { algorithm: 'sha256', encoding: 'hex' })

    expect(none({ signatures: [DIGESTS.sha256] }, SIGNED, 0)).toBeUndefined()
    expect(find([])).toBeUndefined()
  })

  test('of another length is unequal, and no reason to throw', () => {
    expect(isEqual(Buffer.from('ab'), Buffer.from('abc'))).toBe(false)
    expect(isEqual(Buffer.from(''), Buffer.from('abc'))).toBe(false)
    expect(isEqual(Buffer.from('abc'), Buffer.from('abc'))).toBe(true)
  })
})
