import { inspect } from 'node:util'
import { describe, expect, test } from 'vitest'
import type { Source } from '../../src/model/source.ts'
import {
  github,
  hmac,
  shopify,
  standardWebhooks,
  stripe,
  unsigned,
} from '../../src/providers/index.ts'
import { delivery, HMAC_OPTIONS, SECRET } from './signed-sources.ts'

type Make = (options: never) => Source

const PROVIDERS: readonly (readonly [string, Make, object])[] = [
  ['stripe', stripe, {}],
  ['github', github, {}],
  ['shopify', shopify, {}],
  ['standard_webhooks', standardWebhooks, {}],
  ['hmac', hmac, HMAC_OPTIONS],
]

describe.each(PROVIDERS)('%s', (provider, make, rest) => {
  const made = (options: object) => make({ ...rest, secrets: [SECRET], ...options } as never)

  test('has defaults for how it answers, and cannot be changed afterwards', () => {
    const source = made({})

    expect(source).toMatchObject({
      provider,
      acknowledge: 'stored',
      redelivery: 'retry',
      success: { status: 200, body: 'json' },
      warnings: [],
    })
    expect(Object.isFrozen(source)).toBe(true)
  })

  test('takes the answering options', () => {
    expect(
      made({ acknowledge: 'processed', redelivery: 'count', status: 204, sameBytes: 'run' }),
    ).toMatchObject({
      acknowledge: 'processed',
      redelivery: 'count',
      success: { status: 204 },
      sameBytes: 'run',
    })
  })

  test.each([
    { acknowledge: 'later' },
    { redelivery: 'never' },
    { status: 201 },
    { sameBytes: 'drop' },
    { bodyBytesMax: 0 },
    { bodyBytesMax: '10 MB' },
    { secret: SECRET },
    { secrets: SECRET },
    { secrets: [{ value: SECRET, name: 'x' }] },
  ])('refuses %j', (options) => {
    expect(() => made(options)).toThrow(expect.objectContaining({ code: 'OPTION_INVALID' }))
  })

  test.each([[[]], [['']], [[undefined]], [undefined]])(
    'refuses to be without a secret: %j',
    (secrets) => {
      expect(() => made({ secrets })).toThrow(
        expect.objectContaining({
          code: 'SECRET_MISSING',
          message: expect.stringContaining(provider),
        }),
      )
    },
  )

  test('refuses to be made of nothing', () => {
    expect(() => make(undefined as never)).toThrow(
      expect.objectContaining({ code: 'OPTION_INVALID' }),
    )
  })

  test('takes a short secret and warns of it', () => {
    expect(made({ secrets: ['YWJj'] }).warnings.join()).toContain('fewer than 16 bytes')
  })

  test('does not show its secret when printed', () => {
    expect(inspect(made({}), { depth: 9, showHidden: true })).not.toContain(SECRET.slice(6))
  })
})

describe('toleranceSeconds', () => {
  test.each([0, -1, 1.5, Number.NaN, '300', 86_401])('of %j is refused', (toleranceSeconds) => {
    expect(() =>
      stripe({ secrets: [SECRET], toleranceSeconds: toleranceSeconds as number }),
    ).toThrow(expect.objectContaining({ option: 'stripe.toleranceSeconds' }))
  })

  test('is warned about where nothing signed has a time', () => {
    expect(github({ secrets: [SECRET], toleranceSeconds: 60 }).warnings).toEqual([
      'github signs no timestamp, so its toleranceSeconds has no effect.',
    ])
  })
})

describe('hmac', () => {
  test.each([
    ['header', { header: '' }],
    ['header', { header: 'x signature' }],
    ['header', { header: undefined }],
    ['algorithm', { algorithm: 'md5' }],
    ['encoding', { encoding: 'utf8' }],
    ['secretEncoding', { secretEncoding: 'whsec' }],
    ['prefix', { prefix: 1 }],
    ['key', { key: undefined }],
    ['key', { key: 'id' }],
    ['key', { key: [] }],
    ['type', { type: '$.type' }],
    ['signed', { signed: '{timestamp}' }],
    ['signed', { signed: '{timestamp}{body}{body}' }],
    ['signed', { signed: '{timestamp}{payload}{body}' }],
    ['signed', { signed: '{timestamp}é{body}' }],
    ['signed', { signed: '{timestamp}{header:}{body}' }],
    ['signed', { signed: '{timestamp}}{body}' }],
    ['signed', { timestamp: undefined }],
    ['signed', { signed: '{body}' }],
    ['timestamp', { timestamp: 'x-timestamp' }],
    ['timestamp.header', { timestamp: { header: '', format: 'seconds' } }],
    ['timestamp.format', { timestamp: { header: 'x-t', format: 'unix' } }],
    [
      'timestamp.toleranceSeconds',
      { timestamp: { header: 'x-t', format: 'iso', toleranceSeconds: -1 } },
    ],
    ['timestamp.tolerance', { timestamp: { header: 'x-t', format: 'iso', tolerance: 1 } }],
  ])('refuses %s of %j', (option, options) => {
    expect(() => hmac({ ...HMAC_OPTIONS, ...(options as object) })).toThrow(
      expect.objectContaining({
        code: 'OPTION_INVALID',
        option: expect.stringContaining(`hmac.${option}`),
      }),
    )
  })

  test('lists every header it reads, in lower case and once', () => {
    const source = hmac({
      ...HMAC_OPTIONS,
      header: 'X-Signature',
      signed: '{header:X-Nonce}{header:x-id}{timestamp}{body}',
      type: 'header:X-Type',
    })

    expect(source.securityHeaders).toEqual([
      'x-signature',
      'x-timestamp',
      'x-nonce',
      'x-id',
      'x-type',
    ])
  })
})

describe('standardWebhooks with a public key', () => {
  const publicKey = 'whpk_y1TqQ7Pyydw9J52TBN8hKVEF2B5uja3WYsceI9IjIbs='

  test('needs no secret, but none may be empty', () => {
    expect(standardWebhooks({ publicKey }).warnings).toEqual([])
    expect(() => standardWebhooks({ publicKey, secrets: [''] })).toThrow(
      expect.objectContaining({ code: 'SECRET_MISSING' }),
    )
    expect(() => standardWebhooks({ publicKey: [] })).toThrow(
      expect.objectContaining({ code: 'SECRET_MISSING' }),
    )
  })

  test.each(['', 'whpk_', 'whpk_AAAA', `${publicKey}=`, 42, [publicKey, 'x']])(
    'refuses %j',
    (bad) => {
      expect(() => standardWebhooks({ publicKey: bad as string })).toThrow(
        expect.objectContaining({ code: 'OPTION_INVALID' }),
      )
    },
  )
})

describe('unsigned', () => {
  test('believes everything, says so at boot, and must be asked for in so many words', () => {
    const source = unsigned({ verify: 'none', key: 'header:x-id', type: 'json:$.type' })

    expect(source.verify(delivery({}))).toEqual({ ok: true, secret: 'none' })
    expect(source.warnings.join()).toContain("verify: 'none'")
    expect(source.securityHeaders).toEqual(['x-id'])
    expect(() => unsigned({ key: 'body' } as never)).toThrow(
      expect.objectContaining({ option: 'unsigned.verify' }),
    )
  })
})
