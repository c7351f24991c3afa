import { inspect } from 'node:util'
import { describe, expect, test } from 'vitest'
import type { Secret, SecretEncoding } from '../../src/verify/secrets.ts'
import { isLive, listSecretLabels, resolveSecrets } from '../../src/verify/secrets.ts'

const LONG = 'a-secret-of-more-than-16-bytes'

describe('secrets', () => {
  test('are labelled by their place unless they have a label', () => {
    const { secrets } = resolveSecrets(
      'stripe',
      [LONG, { value: LONG, label: 'old' }, LONG],
      'utf8',
    )

    expect(secrets.map(({ label }) => label)).toEqual(['1', 'old', '3'])
  })

  test('verify up to their end and not past it', () => {
    const until = new Date(1_760_000_000_000)
    const [secret] = resolveSecrets('stripe', [{ value: LONG, until }], 'utf8').secrets

    expect(isLive(secret!, until.getTime())).toBe(true)
    expect(isLive(secret!, until.getTime() + 1)).toBe(false)
  })

  test.each([
    ['no list', undefined],
    ['an empty list', []],
    ['an empty secret', ['']],
    ['an unset variable', [undefined]],
    ['an empty value', [{ value: '' }]],
    ['one good and one empty secret', [LONG, '']],
  ])('R32: with %s are missing, and the provider is named', (_, secrets) => {
    expect(() => resolveSecrets('stripe', secrets as readonly Secret[], 'utf8')).toThrow(
      expect.objectContaining({
        code: 'SECRET_MISSING',
        message: expect.stringContaining('stripe has no secret'),
      }),
    )
  })

  test.each(['whsec_', 'whsec_===='])(
    '%j decodes to no bytes or to nothing, and is refused',
    (secret) => {
      expect(() => resolveSecrets('std', [secret], 'whsec')).toThrow(/std/)
    },
  )

  test('whsec_ alone is a missing secret', () => {
    expect(() => resolveSecrets('std', ['whsec_'], 'whsec')).toThrow(
      expect.objectContaining({ code: 'SECRET_MISSING' }),
    )
  })

  test.each<[SecretEncoding, unknown]>([
    ['whsec', ['whsec_not!base64']],
    ['whsec', ['whpk_y1TqQ7Pyydw9J52TBN8hKVEF2B5uja3WYsceI9IjIbs=']],
    ['hex', ['abc']],
    ['hex', ['zz']],
    ['base64', ['***']],
    ['utf8', 'not a list'],
    ['utf8', [42]],
    ['utf8', [{ value: 42 }]],
    ['utf8', [{ value: LONG, label: '' }]],
    ['utf8', [{ value: LONG, label: 'x'.repeat(101) }]],
    ['utf8', [{ value: LONG, label: 'red\u001b[31m' }]],
    ['utf8', [{ value: LONG, label: 'nul\0' }]],
    ['utf8', [{ value: LONG, label: LONG }]],
    ['utf8', [{ value: LONG, label: `old ${LONG}` }]],
    ['utf8', [{ value: LONG, until: 'tomorrow' }]],
    ['utf8', [{ value: LONG, until: new Date(Number.NaN) }]],
    ['utf8', [{ value: LONG, lable: 'misspelt' }]],
    ['utf8', [{ value: LONG, label: '2' }, LONG]],
  ])('in %s that cannot be used are refused: %j', (encoding, secrets) => {
    expect(() => resolveSecrets('std', secrets as readonly Secret[], encoding)).toThrow(
      expect.objectContaining({ code: 'OPTION_INVALID' }),
    )
  })

  test('in a label are refused, and the error does not show them', () => {
    const secrets = [{ value: LONG, label: LONG }]
    expect(() => resolveSecrets('std', secrets, 'utf8')).toThrow(/label contains the secret/)
    expect(() => resolveSecrets('std', secrets, 'utf8')).not.toThrow(LONG)
  })

  test('are shown by their labels and ends, and by nothing else', () => {
    const until = new Date(1_760_000_000_000)
    const { secrets } = resolveSecrets('std', [LONG, { value: LONG, label: 'old', until }], 'utf8')

    expect(listSecretLabels(secrets)).toEqual([{ label: '1' }, { label: 'old', until }])
  })

  test('R32: under 16 bytes are warned about without being shown', () => {
    const { warnings } = resolveSecrets('github', ['gh-secret-1', LONG], 'utf8')

    expect(warnings).toHaveLength(1)
    expect(warnings[0]).toContain('Secret 1 of github has fewer than 16 bytes')
    expect(warnings[0]).not.toContain('gh-secret-1')
  })

  test('are measured as decoded', () => {
    expect(resolveSecrets('x', ['00'.repeat(15)], 'hex').warnings).toHaveLength(1)
    expect(resolveSecrets('x', ['00'.repeat(16)], 'hex').warnings).toHaveLength(0)
  })

  test('with white space around them are warned about', () => {
    expect(resolveSecrets('github', [`${LONG}\n`], 'utf8').warnings.join()).toContain('white space')
  })

  test('are not shown by an error or by printing what they became', () => {
    const printed = inspect(resolveSecrets('github', [LONG], 'utf8'), {
      depth: 9,
      showHidden: true,
    })
    let message = ''
    try {
      resolveSecrets('std', ['canary!not-base64'], 'whsec')
    } catch (error) {
      message = inspect(error)
    }

    expect(printed).not.toContain(LONG)
    expect(message).toContain('std.secrets[0]')
    expect(message).not.toContain('canary')
  })
})
