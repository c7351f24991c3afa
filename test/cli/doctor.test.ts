import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { checkClock, checkSettings } from '../../src/cli/doctor/check-store.ts'
import { openDriver } from '../../src/store/sqlite/open-driver.ts'
import {
  createPostgresDatabase,
  hasNoPostgres,
  openStoreOn,
} from '../support/postgres/open-postgres.ts'
import { aFolder, aStoreOnFile, anEventThat, runCommand } from '../support/run-command.ts'
import { claimOne, enqueue, unknownMessage } from '../support/outbox-steps.ts'
import { startSink } from '../support/sink.ts'
import { dead } from '../support/store-steps.ts'

const SECRET = 'whsec_0123456789abcdef'

describe('hookonce doctor', () => {
  test('finds nothing wrong with a gateway that would work', async () => {
    const { url } = await aStoreOnFile()
    const sink = await startSink()
    const folder = aConfig({
      store: url,
      sources: { stripe: { provider: 'stripe', secrets: ['env:SECRET'], forward: ['app'] } },
      destinations: { app: { url: sink.url, allowPrivate: true, unsigned: true } },
    })

    const { code, output } = await runCommand(['doctor'], { folder, environment: { SECRET } })

    expect(code).toBe(0)
    expect(output).not.toContain('problem')
    for (const check of ['store', 'schema', 'clock', 'durability', 'retention', 'destination app'])
      expect(output).toMatch(new RegExp(`^ok +${check} `, 'm'))
    expect(output).toContain('journal_mode is wal')
    expect(output).toMatch(/^warning +workers +none is running/m)
    expect(output).not.toContain(SECRET)
  })

  test('warns of what will be regretted', async () => {
    const { store, url } = await aStoreOnFile()
    await anEventThat(store, dead)
    const sources = {
      shop: { provider: 'stripe', secrets: [SECRET] },
      billing: { provider: 'stripe', secrets: [SECRET] },
    }
    const destinations = { app: { url: 'http://127.0.0.1:1/', allowPrivate: true, unsigned: true } }
    const folder = aConfig({ store: url, sources, destinations })

    const { code, output } = await runCommand(['doctor', '--json'], { folder })

    const findings = JSON.parse(output) as { level: string; check: string; message: string }[]
    const warnings = findings.filter(({ level }) => level === 'warning')
    expect(code).toBe(0)
    expect(warnings.map(({ check, message }) => `${check}: ${message}`)).toEqual(
      expect.arrayContaining([
        'events: 1 dead',
        'source shop: secrets[0] is written in the config',
        'source billing: has the secret of shop',
        expect.stringMatching(/^destination app: cannot be reached/),
      ]),
    )
    expect(output).not.toContain(SECRET)
  })

  test.each([
    [
      'weak secrets',
      { sources: { stripe: { provider: 'stripe', secrets: ['short'] } } },
      'shorter than 16 bytes',
    ],
    [
      'a missing variable',
      { sources: { stripe: { provider: 'stripe', secrets: ['env:NONE'] } } },
      'NONE is not set',
    ],
    [
      'keys that are forgotten too soon',
      {
        sources: { stripe: { provider: 'stripe', secrets: [SECRET] } },
        retention: { keysDays: 1 },
      },
      'keysDays',
    ],
  ])('ends with 4 for %s', async (_, config, words) => {
    const { url } = await aStoreOnFile()

    const { code, output } = await runCommand(['doctor'], {
      folder: aConfig({ store: url, ...config }),
    })

    expect(code).toBe(4)
    expect(output).toMatch(/^problem/m)
    expect(output).toContain(words)
  })

  test('ends with 4 for a store that is not there, is no database, or is newer', async () => {
    const { file } = await aStoreOnFile()
    const folder = aFolder()
    writeFileSync(
      join(folder, 'broken.db'),
      'this is no database, and long enough to be read as one'.repeat(40),
    )
    const handle = (await openDriver('auto')).open(file)
    handle.execute('insert into hookonce_migrations values (1000, 0)')
    handle.close()
    const examine = (store: string) => runCommand(['doctor', '--store', store], { folder })

    const missing = await examine('sqlite:missing.db')
    const broken = await examine('sqlite:broken.db')
    const newer = await examine(`sqlite:${file}`)
    const away = await examine('postgres://hookonce:secret-word@127.0.0.1:1/hookonce')

    expect([missing.code, broken.code, newer.code, away.code]).toEqual([4, 4, 4, 4])
    expect(missing.output).toContain('There is no database')
    expect(newer.output).toMatch(/^problem +schema /m)
    expect(away.output).toContain('ECONNREFUSED')
    expect(away.output).not.toContain('secret-word')
  })

  test('says that there are no tables yet, and what makes them', async () => {
    const folder = aFolder()
    const handle = (await openDriver('auto')).open(join(folder, 'empty.db'))
    handle.execute('create table other (id integer)')
    handle.close()

    const { code, output } = await runCommand(['doctor', '--store', 'sqlite:empty.db'], { folder })

    expect(code).toBe(4)
    expect(output).toMatch(/^problem +schema /m)
    expect(output).toContain('hookonce migrate makes the tables.')
  })

  test('warns of what is paused, and of messages that may have arrived', async () => {
    const { store, url } = await aStoreOnFile()
    await enqueue(store, {})
    await store.messages.settle([unknownMessage(await claimOne(store))])
    await runCommand(['pause', 'source', 'stripe', '--store', url])

    const { code, output } = await runCommand(['doctor', '--store', url])

    expect(code).toBe(0)
    expect(output).toMatch(/^warning +pauses +source stripe is paused$/m)
    expect(output).toMatch(/^warning +messages +1 to receipts may have arrived$/m)
  })

  test.skipIf(hasNoPostgres)('reads the settings of a PostgreSQL', async () => {
    const { host, port, user, password = '', database } = await createPostgresDatabase()
    const url = `postgres://${user}:${password}@localhost:${port}/${database}?host=${host}`

    const { code, output } = await runCommand(['doctor', '--store', url])

    expect(code).toBe(0)
    for (const setting of ['fsync is on', 'full_page_writes is on', 'synchronous_commit is'])
      expect(output).toContain(setting)
    expect(output).toMatch(/^ok +transactions +none is open for long$/m)
  })

  test.skipIf(hasNoPostgres)('warns of a database that went back in time', async () => {
    const config = await createPostgresDatabase()
    const { host, port, user, password = '', database } = config
    const url = `postgres://${user}:${password}@localhost:${port}/${database}?host=${host}`
    const store = await openStoreOn(config)
    const since = new Date('2026-11-01T03:00:00Z')
    const until = new Date('2026-11-01T03:07:00Z')
    await store.events.keepHistory?.({ id: '2', isReplicated: false, wentBack: { since, until } })

    const { code, output } = await runCommand(['doctor', '--store', url])

    expect(code).toBe(0)
    expect(output).toMatch(/^warning +history +the database went back from .*T03:07.* to .*T03:00/m)
    expect(output).toContain('Events of that time may be missing')
  })
})

test.each([
  ['fsync', 'off', 'problem'],
  ['full_page_writes', 'off', 'problem'],
  ['synchronous_commit', 'off', 'warning'],
  ['synchronous_commit', 'remote_apply', 'ok'],
  ['journal_mode', 'delete', 'problem'],
])('%s = %s is a %s', (name, value, level) => {
  expect(checkSettings([{ name, value }])).toMatchObject([{ level }])
})

test.each([
  [0, 'ok', /^0 ms from/],
  [-1_900, 'ok', /from the database's$/],
  [30_000, 'warning', /^this machine is 30.0 s behind the database$/],
  [-3_600_000, 'problem', /^this machine is 1 hour ahead of the database$/],
])('a database whose clock is %i ms ahead of ours is %s', (aheadMs, level, message) => {
  const nowMs = 1_790_000_000_000

  expect(checkClock(nowMs + aheadMs, nowMs)).toMatchObject({
    level,
    check: 'clock',
    message: expect.stringMatching(message) as string,
  })
})

function aConfig(config: object): string {
  const folder = aFolder()
  writeFileSync(join(folder, 'hookonce.config.json'), JSON.stringify(config))
  return folder
}
