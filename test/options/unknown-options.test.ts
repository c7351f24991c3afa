import { describe, expect, test } from 'vitest'
import { OptionInvalidError } from '../../src/errors.ts'
import { rejectUnknownKeys } from '../../src/options/reject-unknown-keys.ts'
import { createGuard } from '../../src/guard/index.ts'
import { createInbox } from '../../src/inbox/inbox.ts'
import { createReceiver } from '../../src/http/node.ts'
import { destination } from '../../src/outbox/destination.ts'
import { httpDestination } from '../../src/outbox/http-destination.ts'
import { hmac } from '../../src/providers/hmac.ts'
import { stripe } from '../../src/providers/vendors/stripe.ts'
import { postgresStore } from '../../src/store/postgres/index.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import { sign } from '../../src/testing/index.ts'
import { PING_OPTIONS, SECRET } from '../support/inbox-under-test.ts'

const sources = { stripe: stripe({ secrets: [SECRET] }) }

/** Nothing is opened before `start`, so the file is never made. */
function make(options: object = {}) {
  return createInbox({ store: sqliteStore('never-opened.db'), sources, ...options })
}

const handler = (): void => undefined

describe('an unknown option is named, with the one that was probably meant', () => {
  test.each<[string, () => unknown, string, string]>([
    ['createInbox', () => make({ workers: {} }), 'workers', 'worker'],
    ['worker', () => make({ worker: { concurency: 2 } }), 'concurency', 'concurrency'],
    ['receive', () => make({ receive: { bodyBytes: 1 } }), 'bodyBytes', 'bodyBytesMax'],
    ['relay', () => make({ relay: { pollms: 5 } }), 'pollms', 'pollMs'],
    [
      'sqliteStore',
      () => sqliteStore('a.db', { migration: 'auto' } as never),
      'migration',
      'migrate',
    ],
    ['postgresStore', () => postgresStore({ pol: {} } as never), 'pol', 'pool'],
    ['stripe', () => stripe({ secret: [SECRET] } as never), 'secret', 'secrets'],
    ['hmac', () => hmac({ ...PING_OPTIONS, keys: 'body' } as never), 'keys', 'key'],
    [
      'httpDestination("sink")',
      () => httpDestination('sink', { uri: 'https://example.com' } as never),
      'uri',
      'url',
    ],
    [
      'httpDestination("sink")',
      () => httpDestination('sink', { url: 'https://example.com', timeout: 5 } as never),
      'timeout',
      'timeoutMs',
    ],
    [
      'destination("sink")',
      () => destination('sink', { key: 'ignored' } as never, handler),
      'key',
      'keys',
    ],
    [
      'retry',
      () => destination('sink', { retry: { attempts: 2 } } as never, handler),
      'attempts',
      'attemptsMax',
    ],
    ['sign', () => sign('stripe', { types: 'a' } as never, { secret: SECRET }), 'types', 'type'],
    [
      'receiver',
      () => createReceiver(make(), { headersTimeout: 1 } as never),
      'headersTimeout',
      'headersTimeoutMs',
    ],
    ['createGuard', () => createGuard({ redis: {}, sources, redys: 1 } as never), 'redys', 'redis'],
    [
      'on("stripe", …)',
      () => make().on('stripe', 'invoice.paid', { name: 'a', timeoutMS: 1 } as never, handler),
      'timeoutMS',
      'timeoutMs',
    ],
  ])('%s', (where, act, given, meant) => {
    expect(act).toThrow(OptionInvalidError)
    expect(act).toThrow(`${where}: unknown option "${given}", did you mean "${meant}"?`)
  })

  test('and with all that there are, where none is near', () => {
    expect(() => rejectUnknownKeys('receive', { gzip: true }, ['bodyBytesMax', 'key'])).toThrow(
      'receive: unknown option "gzip". There are: bodyBytesMax, key',
    )
  })

  test('by its own characters only: a name may come from anywhere', () => {
    const act = () => rejectUnknownKeys('receive', { ['a\u001b[2J'.repeat(50)]: 1 }, ['key'])
    expect(act).not.toThrow(/\u001b/)
    expect(act).not.toThrow(/.{300}/)
  })
})

describe('an unknown name is named, with the one that was probably meant', () => {
  test('of a source', () => {
    expect(() => make().on('stirpe' as never, 'a', handler)).toThrow(
      'There is no source "stirpe", did you mean "stripe"?',
    )
  })

  test('of a provider', () => {
    expect(() => sign('stirpe' as never, {}, { secret: SECRET })).toThrow('did you mean "stripe"?')
  })
})
