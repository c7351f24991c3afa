import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { printMigrations, sqliteStore } from '../../../src/store/sqlite/index.ts'
import { openDriver } from '../../../src/store/sqlite/open-driver.ts'
import { aClaim, anEventDraft, NAMED } from '../../support/builders.ts'
import { DEFAULT_DRIVER, hasNodeSqlite, sqliteUnderTest } from '../../support/sqlite-under-test.ts'
import { claim, DEADLINE_MS, recordOne, sweepOthers } from '../../support/store-steps.ts'
import { createEmptyDatabase, openStore } from '../../support/store-under-test.ts'

const underTest = sqliteUnderTest(DEFAULT_DRIVER)

describe('sqlite: the store', () => {
  test.each([
    '',
    ':memory:',
    'a\0.db',
    'file:a.db',
    'libsql://example.com',
    'https://example.com/a',
  ])('takes a path and not %j', (file) => {
    expect(() => sqliteStore(file)).toThrow(expect.objectContaining({ code: 'OPTION_INVALID' }))
  })

  test.each([
    { migrat: 'auto' },
    { migrate: 'never' },
    { prefix: 'a-b' },
    { driver: 'x' },
    { writeWaitMs: 0 },
  ])('refuses the option %j', (options) => {
    expect(() => sqliteStore('a.db', options as object)).toThrow(
      expect.objectContaining({ code: 'OPTION_INVALID' }),
    )
  })

  test('says so when the file cannot be opened', async () => {
    const store = sqliteStore('no/such/folder/a.db', { driver: DEFAULT_DRIVER })

    await expect(store.open()).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
  })

  test('says which file it is that is no database', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'hookonce-'))
    onTestFinished(() => rm(folder, { recursive: true }))
    const file = join(folder, 'notes.db')
    await writeFile(file, 'No database, but a text of some length. '.repeat(100))

    const store = sqliteStore(file, { driver: DEFAULT_DRIVER })

    await expect(store.open()).rejects.toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: expect.stringContaining(file) as string,
    })
  })

  test.skipIf(hasNodeSqlite)('says what to install when there is no binding', async () => {
    await expect(openDriver('node:sqlite')).rejects.toMatchObject({
      code: 'DRIVER_MISSING',
      message: expect.stringContaining('npm install libsql'),
    })
  })

  test('the printed migrations make a schema that passes the check', async () => {
    const database = await createEmptyDatabase(underTest)
    await database.execute(printMigrations())

    const store = database.newStore({ migrate: 'check' })
    await store.open()

    expect(await recordOne(store, anEventDraft())).toMatchObject({ status: 'accepted' })
  })

  test('two inboxes live in one file under two prefixes', async () => {
    const database = await createEmptyDatabase(underTest)
    const one = database.newStore()
    const other = database.newStore({ prefix: 'other_' })
    await one.open()
    await other.open()

    expect(await recordOne(one, anEventDraft())).toMatchObject({ status: 'accepted' })
    expect(await recordOne(other, anEventDraft())).toMatchObject({ status: 'accepted' })
  })

  test('the event loop turns while another process has the write lock', async () => {
    const { database, store } = await openStore(underTest)
    await database.execute('begin immediate')

    const waiting = recordOne(store, anEventDraft())
    // A wait inside SQLite would never get to the line that frees the lock.
    await new Promise((resolve) => setImmediate(resolve))
    await database.execute('rollback')

    expect(await waiting).toMatchObject({ status: 'accepted' })
  })

  test('a group is not lost to a claim that could not get the lock', async () => {
    const { database, store } = await openStore(underTest)
    const impatient = database.newStore({ writeWaitMs: 1 })
    await impatient.open()
    await recordOne(store, anEventDraft())
    await database.execute('begin immediate')

    expect(await impatient.queue.claim(aClaim())).toBeUndefined()

    await database.execute('rollback')
    // On a busy machine it may leave the lock to others for a moment, and a claim waits no longer than 1 ms.
    const group = await vi.waitFor(() => claim(impatient), { timeout: DEADLINE_MS })
    expect(group.events).toHaveLength(1)
  })

  test('an event that is parked between the two transactions of its claim does not run', async () => {
    const { database, store } = await openStore(underTest)
    const { eventId } = await recordOne(store, anEventDraft())
    const park = () =>
      database.execute(
        "update hookonce_queue set parked = 'quarantined', parked_reason = 'by an operator'",
      )

    const group = await store.queue.claim({
      ...aClaim(),
      get enough() {
        // Runs when the first transaction has ended and the second has not begun.
        queueMicrotask(() => void park())
        return 10
      },
    })

    expect(group).toBeUndefined()
    expect(await store.operators.findEvent(eventId)).toMatchObject({ state: 'quarantined' })
    await database.execute('update hookonce_queue set parked = null, parked_reason = null')
    expect(await store.operators.findEvent(eventId)).toMatchObject({ state: 'ready' })
    expect(await sweepOthers(store, { crashesMax: 3, me: 'worker-2' })).toEqual([])
  })

  test('a killed process leaves no effect, and its crash is counted without waiting for its heart', async () => {
    const { database, store, createEffects, countEffects } = await openStore(underTest)
    await createEffects()
    const { eventId } = await recordOne(store, anEventDraft())
    const child = fork(
      new URL('./claim-and-hang.ts', import.meta.url),
      [database.file, DEFAULT_DRIVER],
      {
        execArgv: ['--import', 'tsx'],
      },
    )
    onTestFinished(() => {
      child.kill('SIGKILL')
    })
    await once(child, 'message')
    expect(await store.operators.findEvent(eventId)).toMatchObject({ state: 'running' })

    child.kill('SIGKILL')
    await once(child, 'exit')

    expect(await countEffects()).toBe(0)
    expect(await store.queue.claim(aClaim())).toBeUndefined()
    const stopped = (await store.workers.listHearts()).filter(({ isGone }) => isGone)
    expect(await store.workers.sweep({ stopped, crashesMax: 3 })).toEqual([
      { eventId, ...NAMED, attempt: 1, crashes: 1, dead: false, workerId: 'worker-that-dies' },
    ])
    expect((await claim(store, { kind: 'suspect' })).events).toMatchObject([
      { eventId, crashes: 1 },
    ])
  })
})
