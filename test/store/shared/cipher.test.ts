import { createHash, randomBytes } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { Cipher, isSealed } from '../../../src/store/shared/encryption/cipher.ts'
import type { Place } from '../../../src/store/shared/encryption/cipher.ts'
import { resolveEncryption } from '../../../src/store/shared/encryption/encryption-options.ts'
import type { EncryptionOptions } from '../../../src/store/shared/encryption/encryption-options.ts'
import { aKey } from '../../support/encryption-keys.ts'

const PLACE: Place = { table: 'events.body', id: '0192', source: 'stripe' }

describe('the cipher', () => {
  test('opens what it has sealed, bytes and text, the empty one as well', () => {
    const cipher = cipherOf([aKey('a')])
    for (const length of [0, 1, 15, 16, 17, 1_000_000]) {
      const bytes = randomBytes(length)
      expect(Buffer.compare(cipher.open(cipher.seal(bytes, PLACE), PLACE), bytes)).toBe(0)
    }
    for (const text of ['', '{"a":1}', 'ü 💶 \u0000', 'hookonce:sealed:1:a:b'])
      expect(cipher.openText(cipher.sealText(text, PLACE), PLACE)).toBe(text)
  })

  test('no nonce comes twice, and no two ciphertexts are the same', () => {
    const cipher = cipherOf([aKey('a')])
    const nonces = new Set<string>()
    const sealed = new Set<string>()
    const body = Buffer.from('the same every time')

    for (let made = 0; made < 50_000; made += 1) {
      const bytes = Buffer.from(cipher.seal(body, PLACE))
      nonces.add(bytes.subarray(HEAD, HEAD + 12).toString('hex'))
      sealed.add(
        createHash('sha256')
          .update(bytes.subarray(HEAD + 12))
          .digest('hex'),
      )
    }

    expect(nonces.size).toBe(50_000)
    expect(sealed.size).toBe(50_000)
  })

  test('whatever one bit of it is turned into, it does not open', () => {
    const cipher = cipherOf([aKey('a')])
    const sealed = cipher.seal(Buffer.from('{"card":"4242"}'), PLACE)

    for (let bit = 0; bit < sealed.length * 8; bit += 1) {
      const changed = Uint8Array.from(sealed)
      changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7))
      // Where it no longer says that it is sealed, the callers that know that it is notice it (`openContent`).
      if (!isSealed(changed)) continue
      expect(() => cipher.open(changed, PLACE)).toThrow(
        expect.objectContaining({
          code: expect.stringMatching(/^(DECRYPT_FAILED|ENCRYPTION_KEY_MISSING)$/) as string,
        }),
      )
    }
  })

  test('however much of it is missing, it does not open', () => {
    const cipher = cipherOf([aKey('a')])
    const sealed = cipher.seal(Buffer.from('{"card":"4242"}'), PLACE)
    for (let length = 16; length < sealed.length; length += 1)
      expect(() => cipher.open(sealed.subarray(0, length), PLACE)).toThrow(/DECRYPT_FAILED/)
  })

  test.each<[string, Partial<Place>]>([
    ['another table', { table: 'requests.body' }],
    ['another row', { id: '0193' }],
    ['another source', { source: 'github' }],
  ])('what was sealed for one place does not open in %s', (_, other) => {
    const cipher = cipherOf([aKey('a')])
    const sealed = cipher.seal(Buffer.from('x'), PLACE)
    expect(() => cipher.open(sealed, { ...PLACE, ...other })).toThrow(/DECRYPT_FAILED/)
  })

  test('what was sealed with one key does not open under the name of another', () => {
    const same = aKey('a').key
    const cipher = cipherOf([aKey('a'), { id: 'b', key: same }])
    const sealed = Buffer.from(cipher.seal(Buffer.from('x'), PLACE))
    sealed.write('b', HEAD - 2)
    expect(() => cipher.open(sealed, PLACE)).toThrow(/DECRYPT_FAILED/)
  })

  test('the first key seals and all of them open; one that is missing is named', () => {
    const [old, next] = [aKey('old'), aKey('new')]
    const byOld = cipherOf([old]).seal(Buffer.from('x'), PLACE)
    const byNew = cipherOf([next, old]).seal(Buffer.from('x'), PLACE)

    expect(Buffer.from(byNew).toString('latin1')).toContain(':new:')
    for (const sealed of [byOld, byNew])
      expect(Buffer.from(cipherOf([old, next]).open(sealed, PLACE)).toString()).toBe('x')
    expect(() => cipherOf([old]).open(byNew, PLACE)).toThrow(
      expect.objectContaining({ code: 'ENCRYPTION_KEY_MISSING', retryable: true }),
    )
    expect(() => cipherOf([old]).open(byNew, PLACE)).toThrow(/"new"/)
  })

  test('what was stored in the clear is handed over as it is, and so is all where it is switched off', () => {
    const cipher = cipherOf([aKey('a')], 'clear')
    const body = Buffer.from('{"a":1}')
    expect(cipherOf([aKey('a')]).open(body, PLACE)).toBe(body)
    expect(cipher.seal(body, PLACE)).toBe(body)
    expect(cipher.sealText('text', PLACE)).toBe('text')
    expect(cipher.openText(cipherOf([aKey('a')]).sealText('text', PLACE), PLACE)).toBe('text')
  })
})

describe('the keys of a store', () => {
  const KEY = randomBytes(32)

  test.each<[string, unknown, RegExp]>([
    ['none', { keys: [] }, /encryption\.keys must be a list/],
    ['no list', { keys: 'k' }, /encryption\.keys must be a list/],
    ['an unknown option', { keys: [{ id: 'a', key: KEY }], kees: 1 }, /unknown option "kees"/],
    ['an unknown field', { keys: [{ id: 'a', key: KEY, kind: 1 }] }, /unknown option "kind"/],
    ['no name', { keys: [{ key: KEY }] }, /keys\.0\.id/],
    ['a name with a colon', { keys: [{ id: 'a:b', key: KEY }] }, /keys\.0\.id/],
    ['a name twice', { keys: [aKey('a'), aKey('a', 'b')] }, /two keys are called "a"/],
    ['a short key', { keys: [{ id: 'a', key: KEY.subarray(1) }] }, /"a", has 31 bytes/],
    ['a key in hex', { keys: [{ id: 'a', key: KEY.toString('hex') }] }, /"a", has 48 bytes/],
    ['a phrase', { keys: [{ id: 'a', key: 'correct horse battery' }] }, /neither bytes nor base64/],
    [
      'a phrase as bytes',
      { keys: [{ id: 'a', key: Buffer.from('a phrase of thirty-two letters!!') }] },
      /not random/,
    ],
    ['zeros', { keys: [{ id: 'a', key: new Uint8Array(32) }] }, /not random/],
    ['another mode', { keys: [{ id: 'a', key: KEY }], writes: 'off' }, /encryption\.writes/],
  ])('%s is refused, by its name, and the key is not told', (_, options, message) => {
    const resolve = () =>
      resolveEncryption('postgresStore.encryption', options as EncryptionOptions)
    expect(resolve).toThrow(message)
    expect(resolve).toThrow(expect.objectContaining({ code: 'OPTION_INVALID' }))
    try {
      resolve()
    } catch (error) {
      for (const secret of [
        KEY.toString('hex'),
        KEY.toString('base64'),
        'correct horse',
        'phrase of',
      ])
        expect(String(error)).not.toContain(secret)
    }
  })

  test('bytes and base64 are the same key, with and without its end, and in the letters of URLs', () => {
    const sealed = cipherOf([{ id: 'a', key: KEY }]).seal(Buffer.from('x'), PLACE)
    const texts = [
      KEY.toString('base64'),
      KEY.toString('base64').replace('=', ''),
      KEY.toString('base64url'),
    ]
    for (const key of texts)
      expect(Buffer.from(cipherOf([{ id: 'a', key }]).open(sealed, PLACE)).toString()).toBe('x')
  })

  test('a key is not in what is printed of a store', () => {
    const resolved = resolveEncryption('sqliteStore.encryption', { keys: [{ id: 'a', key: KEY }] })
    expect(JSON.stringify(resolved)).not.toContain(KEY.toString('base64'))
    expect(JSON.stringify(resolved)).toContain('"a"')
  })
})

/** How long the beginning is: what it is, the version, and a key whose name has one letter. */
const HEAD = 'hookonce:sealed:1:a:'.length

function cipherOf(keys: EncryptionOptions['keys'], writes: 'sealed' | 'clear' = 'sealed'): Cipher {
  const resolved = resolveEncryption('test', { keys, writes })
  if (resolved === undefined) throw new Error('There are keys')
  return new Cipher(resolved)
}
