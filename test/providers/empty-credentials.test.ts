import { describe, expect, test } from 'vitest'
import { auth0 } from '../../src/providers/index.ts'
import { post } from './bare-delivery.ts'
import { PROVIDERS } from './vector.ts'

const PASSWORD_PROVIDERS = [...PROVIDERS].filter(
  ([, { definition }]) => definition.verify.kind === 'basic',
)

const MISSING = expect.objectContaining({ code: 'SECRET_MISSING' })

describe('R50: a user and a password of which one is empty', () => {
  test('there are providers with passwords to look at', () => {
    expect(PASSWORD_PROVIDERS.map(([slug]) => slug)).toEqual(['chargebee', 'postmark'])
  })

  describe.each(PASSWORD_PROVIDERS)('%s', (slug, make) => {
    test.each([
      { username: '', password: '' },
      { username: 'hook', password: '' },
      { username: '', password: 'a-password-of-some-length' },
      { secrets: [':'] },
      { secrets: ['hook:'] },
      { secrets: [':a-password-of-some-length'] },
      { secrets: [{ value: 'hook:' }] },
      { secrets: ['hook:a-password-of-some-length', ':'] },
    ])('make no source: %j', (options) => {
      expect(() => make(options)).toThrow(MISSING)
    })

    test('make no source where the colon is missing, which no header could match', () => {
      expect(() => make({ secrets: ['a-password-of-some-length'] })).toThrow(
        expect.objectContaining({ code: 'OPTION_INVALID', option: `${slug}.secrets[0]` }),
      )
    })

    test('are told from a password with colons in it', async () => {
      const source = make({ username: 'hook', password: ':of:some:length:' })
      const shown = Buffer.from('hook::of:some:length:').toString('base64')

      expect(await source.verify(post('{}', { authorization: `Basic ${shown}` }))).toEqual({
        ok: true,
        secret: 'password',
      })
    })
  })

  test.each([':', 'hook:', ':a-password-of-some-length'])(
    'make no source of auth0, which takes passwords and tokens: %j',
    (secret) => {
      expect(() => auth0({ secrets: [secret] })).toThrow(MISSING)
    },
  )
})
