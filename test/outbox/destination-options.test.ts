import { describe, expect, test } from 'vitest'
import { createInbox } from '../../src/inbox/inbox.ts'
import { destination } from '../../src/outbox/destination.ts'
import { httpDestination } from '../../src/outbox/http-destination.ts'
import type { HttpDestinationOptions } from '../../src/outbox/http-destination.ts'
import { hmac } from '../../src/providers/hmac.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import { PING_OPTIONS } from '../support/inbox-under-test.ts'

const URL_OK = 'https://example.com/hooks'

describe('a destination is refused', () => {
  test.each<readonly [string, Partial<HttpDestinationOptions>, string]>([
    ['an option that is not known', { timeout: 5 } as never, '.timeout'],
    ['keys that are neither', { keys: 'maybe' as never }, '.keys'],
    ['a decision where keys are honoured', { onUncertain: 'resend' }, '.onUncertain'],
    ['a lifetime where keys are ignored', { keys: 'ignored', keyLifetimeMs: 5 }, '.keyLifetimeMs'],
    ['a check without a function', { keys: 'ignored', onUncertain: 'check' }, '.check'],
    ['a function without a check', { keys: 'ignored', check: async () => 'absent' }, '.check'],
    ['no concurrency', { concurrency: 0 }, '.concurrency'],
    ['no time', { timeoutMs: 0 }, '.timeoutMs'],
    ['a rate below none', { ratePerSecond: -1 }, '.ratePerSecond'],
    ['a short secret', { secrets: ['short'] }, '.secrets.0'],
    ['a secret instead of a list', { secrets: 'whsec_x' as never }, '.secrets'],
    ['no URL', { url: undefined as never }, '.url'],
  ])('with %s', (_what, options, option) => {
    expect(() => httpDestination('sink', { url: URL_OK, ...options })).toThrow(
      expect.objectContaining({
        code: 'OPTION_INVALID',
        option: `httpDestination("sink")${option}`,
      }),
    )
  })

  test('with an option that is not known, of all that there are', () => {
    const act = () => httpDestination('sink', { url: URL_OK, gzip: true } as never)
    for (const name of ['url', 'secrets', 'headers', 'allow', 'idleTimeoutMs', 'resolve', 'keys'])
      expect(act).toThrow(name)
  })

  test.each<readonly [string, Partial<HttpDestinationOptions>, string]>([
    ['a silence of no length', { idleTimeoutMs: 0 }, '.idleTimeoutMs'],
    ['an allowed host that is none', { allow: ['a b'] }, '.allow.0'],
    ['an allowance that is no list', { allow: '10.0.0.0/8' as never }, '.allow'],
    ['a resolver that is no function', { resolve: 'dns' as never }, '.resolve'],
    ['a header that is no object', { headers: 'x-a: b' as never }, '.headers'],
  ])('by the name the user knows: %s', (_what, options, option) => {
    expect(() => httpDestination('sink', { url: URL_OK, ...options })).toThrow(
      expect.objectContaining({ option: `httpDestination("sink")${option}` }),
    )
  })

  test('without options', () => {
    expect(() => httpDestination('sink', undefined as never)).toThrow(
      expect.objectContaining({ code: 'OPTION_INVALID', option: 'httpDestination("sink")' }),
    )
  })

  test.each([
    ['http://localhost:4400/', 'allow: ["localhost"]'],
    ['https://10.0.0.5/', 'allow: ["10.0.0.5"]'],
    ['https://[::1]/', 'allow: ["::1"]'],
    ['https://app.internal/', 'allow: ["app.internal"]'],
    ['http://example.com/', 'allow: ["example.com"]'],
    ['https://example.com:22/', 'allow: ["example.com"]'],
  ])('at %s, and says how it is allowed', (url, advice) => {
    expect(() => httpDestination('sink', { url })).toThrow(advice)
    const allowed = JSON.parse(advice.slice('allow: '.length)) as string[]
    expect(() => httpDestination('sink', { url, allow: allowed })).not.toThrow()
  })

  test('at a metadata service, which is reached by its address alone', () => {
    expect(() => httpDestination('sink', { url: 'http://169.254.169.254/' })).toThrow(
      'name its address, not its host, in the option allow',
    )
  })

  test.each(['ftp://example.com/', 'https://a:b@example.com/', 'example.com'])(
    'at %s, where no allowance helps',
    (url) => {
      expect(() => httpDestination('sink', { url, allow: ['example.com'] })).toThrow(
        expect.objectContaining({ code: 'DESTINATION_BLOCKED' }),
      )
    },
  )

  test.each(['', 'Sink', 'a b', 'a/b', 'x'.repeat(64)])('with the name %j', (name) => {
    expect(() => destination(name, () => undefined)).toThrow('destination.name')
  })

  test('without a function', () => {
    expect(() => destination('sink', {}, undefined as never)).toThrow('destination("sink").send')
  })

  test('with a header that cannot be one', () => {
    expect(() => httpDestination('sink', { url: URL_OK, headers: { 'x-a': 'b\n' } })).toThrow(
      expect.objectContaining({ code: 'MESSAGE_INVALID' }),
    )
  })
})

describe('an inbox refuses', () => {
  const create = (options: object) => () =>
    createInbox({
      store: sqliteStore('never-opened.db'),
      sources: { pings: hmac(PING_OPTIONS) },
      ...options,
    })
  const sink = destination('sink', () => undefined)

  test.each<readonly [string, object, string]>([
    ['two destinations of one name', { destinations: [sink, sink] }, 'createInbox.destinations.1'],
    ['what is no destination', { destinations: [{}] }, 'createInbox.destinations.0'],
    ['no list', { destinations: {} }, 'createInbox.destinations'],
    [
      'a lease shorter than an attempt',
      { destinations: [sink], relay: { leaseMs: 15_000 } },
      'relay.leaseMs',
    ],
    ['a poll of nothing', { relay: { pollMs: 0 } }, 'relay.pollMs'],
    ['an option that is not known', { relay: { poll: 5 } }, 'relay.poll'],
  ])('%s', (_what, options, option) => {
    expect(create(options)).toThrow(expect.objectContaining({ code: 'OPTION_INVALID', option }))
  })
})
