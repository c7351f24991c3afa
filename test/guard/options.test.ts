import { describe, expect, test } from 'vitest'
import { OptionInvalidError, RetentionTooShortError } from '../../src/errors.ts'
import { createGuard } from '../../src/guard/index.ts'
import { chargebee, hmac, stripe } from '../../src/providers/index.ts'

const client = { evalSha: () => Promise.resolve([]), eval: () => Promise.resolve([]) }
const sources = { orders: { retryWindowHours: 24 } }
const make = (options: object) => () => createGuard({ redis: client, sources, ...options })

describe('a guard is refused', () => {
  test.each([
    ['no client', { redis: undefined }, 'createGuard.redis'],
    ['a client that is none', { redis: { get() {} } }, 'createGuard.redis'],
    ['an option with a slip of the pen', { lease: 1_000 }, 'createGuard.lease'],
    ['an unknown mode', { mode: 'exactly-once' }, 'createGuard.mode'],
    ['an unknown whenUnavailable', { whenUnavailable: 'skip' }, 'createGuard.whenUnavailable'],
    ['a lease of no length', { leaseMs: 0 }, 'createGuard.leaseMs'],
    [
      'a lease no longer than a command may take',
      { leaseMs: 2_000 },
      'createGuard.commandTimeoutMs',
    ],
    ['a run that is shorter than its lease', { runMsMax: 1_000 }, 'createGuard.runMsMax'],
    ['a retention of no days', { retentionDays: 0 }, 'createGuard.retentionDays'],
    ['a prefix that decides the slot', { prefix: '{app}:' }, 'createGuard.prefix'],
    ['a negative size', { resultBytesMax: -1 }, 'createGuard.resultBytesMax'],
    [
      'an unknown option of receiving',
      { receive: { batchMax: 1 } },
      'createGuard.receive.batchMax',
    ],
    ['no sources', { sources: {} }, 'createGuard.sources'],
    [
      'a source with a bad name',
      { sources: { 'a:b': { retryWindowHours: 1 } } },
      'createGuard.sources.a:b',
    ],
    ['a source that is none', { sources: { a: {} } }, 'createGuard.sources.a'],
    [
      'a window with more to it',
      { sources: { a: { retryWindowHours: 1, x: 1 } } },
      'createGuard.sources.a.x',
    ],
  ])('with %s', (_name, options, option) => {
    expect(make(options)).toThrow(OptionInvalidError)
    expect(make(options)).toThrow(expect.objectContaining({ code: 'OPTION_INVALID', option }))
  })

  test.each([
    ['stripe', stripe({ secrets: ['whsec_0123456789abcdef'] }), 2, 72, 3],
    ['billing', chargebee({ username: 'u', password: '0123456789abcdef' }), 3, 78.6, 4],
    ['unknown', { retryWindowHours: null }, 2, 72, 3],
    [
      'partner',
      hmac({
        header: 'x-s',
        algorithm: 'sha256',
        encoding: 'hex',
        secrets: ['0123456789abcdef'],
        key: 'json:$.id',
      }),
      1,
      72,
      3,
    ],
  ])(
    'when marks would be gone before %s has stopped to retry',
    (name, source, days, hours, enough) => {
      const tooShort = make({ sources: { [name]: source }, retentionDays: days })

      expect(tooShort).toThrow(RetentionTooShortError)
      expect(tooShort).toThrow(
        expect.objectContaining({
          code: 'RETENTION_TOO_SHORT',
          source: name,
          retentionDays: days,
          retryWindowHours: hours,
        }),
      )
      expect(tooShort).toThrow(`Set createGuard.retentionDays to ${enough} or more`)
      expect(make({ sources: { [name]: source }, retentionDays: enough })).not.toThrow()
    },
  )
})

describe('a call is refused', () => {
  const guard = createGuard({ redis: client, sources })

  test('for a source that is not configured', async () => {
    const call = guard.once('refunds' as never, 'evt_1', () => 1)

    await expect(call).rejects.toMatchObject({ code: 'SOURCE_UNKNOWN' })
    expect(() => guard.middleware('refunds' as never)).toThrow('There is no source "refunds"')
  })

  test('of the middleware for a source that can verify nothing', () => {
    expect(() => guard.middleware('orders' as never)).toThrow('can verify nothing')
  })

  test.each([
    ['an empty key, which all events without one would share', ''],
    ['no key', undefined],
  ])('with %s', async (_name, key) => {
    const call = guard.once('orders', key as string, () => 1)

    await expect(call).rejects.toMatchObject({ code: 'OPTION_INVALID' })
    await expect(guard.forget('orders', key as string)).rejects.toMatchObject({
      code: 'OPTION_INVALID',
    })
  })

  test('without anything to run', async () => {
    await expect(guard.once('orders', 'evt_1', undefined as never)).rejects.toMatchObject({
      code: 'OPTION_INVALID',
    })
  })
})
