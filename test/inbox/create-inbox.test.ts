import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { createInbox } from '../../src/inbox/inbox.ts'
import { adyen } from '../../src/providers/vendors/adyen.ts'
import { github } from '../../src/providers/vendors/github.ts'
import { unsigned } from '../../src/providers/unsigned.ts'
import { stripe } from '../../src/providers/vendors/stripe.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'

const source = stripe({ secrets: ['whsec_test_secret_of_some_length'] })

/** Nothing is opened before `start`, so the file is never made. */
function make(options: object) {
  return () =>
    createInbox({ store: sqliteStore('never-opened.db'), sources: { stripe: source }, ...options })
}

describe('createInbox refuses', () => {
  test.each<[string, object, string]>([
    ['an unknown option', { workers: 4 }, 'createInbox.workers'],
    ['an unknown receive option', { receive: { maxBody: 1 } }, 'receive.maxBody'],
    ['R36: a size with a unit', { receive: { bodyBytesMax: '10 MBB' } }, 'receive.bodyBytesMax'],
    [
      'R36: a size that is no number',
      { receive: { bodyBytesMax: Number.NaN } },
      'receive.bodyBytesMax',
    ],
    ['R36: a negative size', { receive: { bodyBytesMax: -1 } }, 'receive.bodyBytesMax'],
    ['R62: no bytes in flight', { receive: { inFlightBytesMax: 0 } }, 'receive.inFlightBytesMax'],
    [
      'R62: fewer bytes in flight than the largest body has',
      { receive: { inFlightBytesMax: 1_048_575 } },
      'receive.inFlightBytesMax',
    ],
    [
      'R62: fewer bytes in flight than the largest body of a source has',
      {
        receive: { inFlightBytesMax: 26_214_399 },
        sources: { hub: github({ secrets: ['It is a secret of GitHub'] }) },
      },
      'receive.inFlightBytesMax',
    ],
    ['R61: no event at all', { receive: { eventsMax: 0 } }, 'receive.eventsMax'],
    ['an unknown worker option', { worker: { threads: 2 } }, 'worker.threads'],
    ['a concurrency of zero', { worker: { concurrency: 0 } }, 'worker.concurrency'],
    ['options that are no object', { worker: true }, 'worker'],
    ['a list of options', { receive: [] }, 'receive'],
    // Node's timers take them for 1 ms.
    ['more than a timer takes', { worker: { stopGraceMs: 2 ** 31 } }, 'worker.stopGraceMs'],
    ['an endless answer', { receive: { answerTimeoutMs: 2 ** 31 } }, 'receive.answerTimeoutMs'],
    ['an endless watch', { worker: { blockedMs: 2 ** 31 } }, 'worker.blockedMs'],
    ['an unknown retention', { retention: { days: 3 } }, 'createInbox.retention.days'],
    ['a retention that is no object', { retention: 30 }, 'createInbox.retention'],
    ['half a day', { retention: { doneDays: 0.5 } }, 'createInbox.retention.doneDays'],
    ['no day at all', { retention: { deadDays: 0 } }, 'createInbox.retention.deadDays'],
    ['days in words', { retention: { keysDays: 'never' } }, 'createInbox.retention.keysDays'],
    ['a daily run that is neither', { retention: { daily: 1 } }, 'createInbox.retention.daily'],
    ['no sources', { sources: {} }, 'createInbox.sources'],
    [
      'a source that is none',
      { sources: { stripe: { secrets: ['x'] } } },
      'createInbox.sources.stripe',
    ],
    ['a source name that is no path', { sources: { 'a/b': source } }, 'createInbox.sources.a/b'],
    ['a logger that is none', { logger: false }, 'createInbox.logger'],
    ['a logger that lacks a level', { logger: { info() {}, warn() {} } }, 'createInbox.logger'],
    ['a store that is none', { store: 'postgres://localhost' }, 'createInbox.store'],
  ])('%s, by name', (_what, options, option) => {
    expect(make(options)).toThrow(expect.objectContaining({ code: 'OPTION_INVALID', option }))
  })

  test('a source without secret, by name and with what to do', () => {
    expect(() => stripe({ secrets: [] })).toThrow(
      expect.objectContaining({ code: 'SECRET_MISSING' }),
    )
    expect(() => stripe({ secrets: [''] })).toThrow(/stripe/i)
  })

  test.each<[string, object, number, RegExp]>([
    [
      'Stripe',
      { stripe: source },
      29,
      /"stripe" retries for up to 72 h.*648 h more.*to 30 or more/,
    ],
    [
      'GitHub, which only a person makes deliver again',
      { hub: github({ secrets: ['It is a secret of GitHub'] }) },
      6,
      /"hub" retries for up to 0 h.*168 h more.*to 7 or more/,
    ],
    [
      'a sender of which nothing is known',
      { own: unsigned({ verify: 'none', key: 'json:$.id' }) },
      5,
      /how long "own" retries is not known, so 72 h are assumed.*to 6 or more/,
    ],
    [
      'Adyen, whose own retries take longest',
      { adyen: adyen({ secrets: ['0'.repeat(64)] }) },
      32,
      /720 h.*72 h more.*to 33 or more/,
    ],
    [
      'a sender that says more',
      { own: { ...source, manualRedeliveryHours: 2_400 } },
      45,
      /2400 h more.*to 103 or more/,
    ],
    [
      'a sender of your own that says so',
      {
        own: unsigned({
          verify: 'none',
          key: 'json:$.id',
          retryWindowHours: 24,
          manualRedeliveryHours: 240,
        }),
      },
      10,
      /"own" retries for up to 24 h.*240 h more.*to 11 or more/,
    ],
  ])('P03: to forget keys that %s may still deliver', (_who, sources, keysDays, message) => {
    const options = { sources, retention: { keysDays } }
    expect(make(options)).toThrow(expect.objectContaining({ code: 'RETENTION_TOO_SHORT' }))
    expect(make(options)).toThrow(message)
  })

  test('to say what a string was: it may be a secret in the wrong place', () => {
    expect(make({ store: 'whsec_canary' })).toThrow(/a string of 12 characters/)
    expect(make({ store: 'whsec_canary' })).not.toThrow(/canary/)
  })
})

describe('createInbox takes', () => {
  test.each<[string, object]>([
    ['keys for as long as they are needed', { keysDays: 30 }],
    ['keys for ever', { keysDays: 'forever' }],
    ['an option that is left undefined', { keysDays: undefined, doneDays: 7 }],
  ])('%s', (_what, retention) => {
    expect(make({ retention })).not.toThrow()
  })
})

describe('an inbox', () => {
  test('starts once', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'hookonce-'))
    onTestFinished(() => rm(folder, { recursive: true }))
    await using inbox = createInbox({
      store: sqliteStore(join(folder, 'inbox.db')),
      sources: { stripe: source },
      logger: { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} },
      worker: false,
    })
    await inbox.start()

    await expect(inbox.start()).rejects.toMatchObject({ code: 'INBOX_STOPPED' })
  })

  test('R32: names the source whose secret is short, and one that verifies nothing, at every start', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'hookonce-'))
    onTestFinished(() => rm(folder, { recursive: true }))
    await using inbox = createInbox({
      store: sqliteStore(join(folder, 'inbox.db')),
      sources: {
        short: stripe({ secrets: ['12345'] }),
        open: unsigned({ verify: 'none', key: 'json:$.id' }),
      },
      logger: { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} },
      worker: false,
    })
    const warned: string[] = []
    inbox.events.on('source.warning', ({ source: name, warning }) =>
      warned.push(`${name}: ${warning}`),
    )

    await inbox.start()

    expect(warned).toEqual([
      expect.stringMatching(/^short: Secret 1 of stripe has fewer than 16 bytes/),
      expect.stringMatching(/^open: .*verify: 'none'/),
    ])
    expect(warned.join()).not.toContain('12345')
  })

  test('has a store of its own: a second one would lose it when the first stops', () => {
    const store = sqliteStore('never-opened.db')
    expect(make({ store, worker: { threads: 2 } })).toThrow()
    make({ store })()

    expect(make({ store })).toThrow(
      expect.objectContaining({ code: 'OPTION_INVALID', option: 'createInbox.store' }),
    )
  })

  test('refuses to mount an unknown source, naming the known ones', () => {
    const inbox = make({})() as unknown as {
      fetch(source: string): unknown
      node(source: string): unknown
    }

    expect(() => inbox.fetch('strype')).toThrow(expect.objectContaining({ code: 'SOURCE_UNKNOWN' }))
    expect(() => inbox.node('strype')).toThrow(/Configured: stripe/)
  })
})
