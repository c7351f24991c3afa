import { describe, expect, test } from 'vitest'
import { createInbox } from '../../src/inbox.ts'
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
