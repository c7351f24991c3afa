import { describe, expect, test } from 'vitest'
import { hmac, unsigned } from '../../src/providers/index.ts'
import type { Source } from '../../src/model/source.ts'
import type { HmacOptions, IdentityOptions } from '../../src/providers/index.ts'
import { sign } from '../../src/testing/index.ts'
import { openReceivingInbox } from '../support/receiving-inbox.ts'
import { post } from './bare-delivery.ts'
import { HMAC_OPTIONS } from './signed-sources.ts'

const IDENTITY: IdentityOptions = {
  key: 'json:$.id',
  type: ['json:$.event', 'header:x-event'],
  scope: 'json:$.account',
  occurredAt: 'json:$.at',
  version: 'json:$.revision',
  sequence: 'header:x-count',
  volatile: ['$.attempt'],
  retryWindowHours: 48,
  manualRedeliveryHours: 24,
}
const BODY = { id: '1', account: 'a', at: '2025-10-09T08:53:17Z', revision: 7, attempt: 1 }

const KINDS: readonly (readonly [string, (options: IdentityOptions) => Source])[] = [
  ['hmac', (options) => hmac({ ...HMAC_OPTIONS, ...options })],
  ['unsigned', (options) => unsigned({ verify: 'none', ...options })],
]

describe.each(KINDS)('%s', (name, make) => {
  test('reads of an event all that a provider can say of it', () => {
    const delivery = post(JSON.stringify(BODY), { 'x-event': 'paid', 'x-count': '12' })
    const source = make(IDENTITY)

    expect(source.retryWindowHours).toBe(48)
    expect(source.manualRedeliveryHours).toBe(24)
    expect(source.securityHeaders).toEqual(expect.arrayContaining(['x-event', 'x-count']))
    expect(source.identify(delivery)).toMatchObject([
      {
        key: '1',
        type: 'paid',
        scope: 'a',
        occurredAt: new Date('2025-10-09T08:53:17Z'),
        version: 7,
        sequence: 12,
      },
    ])
  })

  test.each<[string, object]>([
    ['scope', { scope: '$.account' }],
    ['occurredAt', { occurredAt: () => '1' }],
    ['version', { version: { all: ['json:$.a'] } }],
    ['sequence', { sequence: [] }],
    ['volatile', { volatile: '$.attempt' }],
    ['volatile', { volatile: ['attempt'] }],
    ['volatile', { volatile: [1] }],
    ['volatile', { volatile: ['$.attempt'], key: ['json:$.id', 'body'] }],
    ['retryWindowHours', { retryWindowHours: -1 }],
    ['retryWindowHours', { retryWindowHours: '48' }],
    ['retryWindowHours', { retryWindowHours: Number.NaN }],
    ['manualRedeliveryHours', { manualRedeliveryHours: -1 }],
    ['manualRedeliveryHours', { manualRedeliveryHours: null }],
    ['manualRedeliveryHours', { manualRedeliveryHours: Infinity }],
  ])('refuses a %s that cannot be used: %j', (option, options) => {
    expect(() => make({ ...IDENTITY, ...options })).toThrow(`${name}.${option}`)
  })
})

describe('R67: a sender of hmac that counts its attempts in the body', () => {
  const options: HmacOptions = { ...HMAC_OPTIONS, ...IDENTITY, key: 'json:$.id' }
  const deliver = (change: object) => sign('hmac', { body: { ...BODY, ...change } }, options)

  test('sends duplicates, and a conflict where anything else has changed', async () => {
    const { receive } = await openReceivingInbox({ source: hmac(options) })

    expect(await receive('source', deliver({}))).toBe('accepted')
    expect(await receive('source', deliver({ attempt: 2 }))).toBe('duplicate')
    expect(await receive('source', deliver({ attempt: 3, revision: 8 }))).toBe('conflict')
  })

  test('has an event for each scope of one key', async () => {
    const { receive } = await openReceivingInbox({ source: hmac(options) })

    expect(await receive('source', deliver({}))).toBe('accepted')
    expect(await receive('source', deliver({ account: 'b' }))).toBe('accepted')
  })

  test('has no scope that an attacker on the way can write without a second look at its bytes', () => {
    const inHeader = hmac({ ...options, scope: 'header:x-account' })
    const signed = hmac({
      ...options,
      scope: 'header:x-account',
      signed: '{header:x-account}.{timestamp}.{body}',
    })

    expect([inHeader.sameBytes, signed.sameBytes]).toEqual(['quarantine', 'run'])
  })
})
