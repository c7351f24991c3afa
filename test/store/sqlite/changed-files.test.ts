/** Files that are deleted, replaced, cut or overwritten under an open store, by people and programs that mean well. */

import { execFileSync, fork } from 'node:child_process'
import { once } from 'node:events'
import { symlinkSync, truncateSync, unlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { sqliteStore } from '../../../src/store/sqlite/index.ts'
import { LastingFile } from '../../../src/store/sqlite/lasting-file.ts'
import { openDriver } from '../../../src/store/sqlite/open-driver.ts'
import { anEventDraft } from '../../support/builders.ts'
import { openInbox } from '../../support/inbox-under-test.ts'
import { DEFAULT_DRIVER, sqliteUnderTest } from '../../support/sqlite-under-test.ts'
import type { SqliteDatabaseUnderTest } from '../../support/sqlite-under-test.ts'
import { claim, done, recordOne } from '../../support/store-steps.ts'
import { openStore } from '../../support/store-under-test.ts'

const underTest = sqliteUnderTest(DEFAULT_DRIVER)
const CHANGED = { code: 'STORE_FILE_CHANGED', retryable: false }

/** By another process: what is opened and closed in this one takes SQLite's locks along. */
function copy(from: string, to: string): void {
  execFileSync('cp', [from, to])
}

function inboxDatabase(database: unknown): SqliteDatabaseUnderTest {
  return database as SqliteDatabaseUnderTest
}

/** A store that has acknowledged some events, of which a backup has the first, and the log the last. */
async function openWithBackup() {
  const opened = await openStore(underTest)
  const { file } = opened.database
  const record = (key: string) =>
    recordOne(opened.store, anEventDraft({ key, body: key.repeat(300) }))
  for (let n = 0; n < 10; n += 1) await record(`old_${n}`)
  await opened.database.query('pragma wal_checkpoint(full)')
  copy(file, `${file}.backup`)
  for (let n = 0; n < 15; n += 1) await record(`new_${n}`)
  // The end of the log is then what was written last, and nothing that is over: without that nothing is cut off it.
  await opened.database.query('pragma wal_checkpoint(truncate)')
  for (let n = 0; n < 15; n += 1) await record(`newer_${n}`)
  return { ...opened, file, record }
}

type Change = (file: string) => void
const CHANGES: readonly (readonly [string, Change, string])[] = [
  ['the log was deleted', (file) => unlinkSync(`${file}-wal`), '-wal'],
  ['the shared memory was deleted', (file) => unlinkSync(`${file}-shm`), '-shm'],
  [
    'the log was replaced',
    (file) => {
      unlinkSync(`${file}-wal`)
      writeFileSync(`${file}-wal`, '')
    },
    '-wal',
  ],
  ['the log was emptied', (file) => truncateSync(`${file}-wal`, 0), '-wal'],
  ['the log was cut', (file) => execFileSync('truncate', ['-s', '-5000', `${file}-wal`]), '-wal'],
  [
    'the beginning of the log was overwritten',
    (file) =>
      execFileSync('dd', ['if=/dev/zero', `of=${file}-wal`, 'bs=32', 'count=1', 'conv=notrunc'], {
        stdio: 'ignore',
      }),
    '-wal',
  ],
  ['a backup was copied over the file', (file) => copy(`${file}.backup`, file), ''],
  ['the file was emptied', (file) => truncateSync(file, 0), ''],
  ['the file was cut', (file) => truncateSync(file, 8_192), ''],
  ['a backup was moved to its place', (file) => execFileSync('mv', [`${file}.backup`, file]), ''],
  ['the file was deleted', (file) => unlinkSync(file), ''],
  [
    'a copy was moved to its place',
    (file) => execFileSync('sh', ['-c', 'cp "$0" "$0.copy" && mv "$0.copy" "$0"', file]),
    '',
  ],
]

describe('sqlite: files that change under an open store', () => {
  test.each(CHANGES)(
    'R70: no delivery is acknowledged after %s, and the answer says what to do',
    async (_what, change, suffix) => {
      const { file, store, record } = await openWithBackup()

      change(file)

      const refused = record('lost')
      await expect(refused).rejects.toMatchObject(CHANGED)
      await expect(refused).rejects.toThrow(`${file}${suffix} was`)
      await expect(refused).rejects.toThrow(suffix === '' ? /once more/ : /Restart|once more/)
      await expect(store.operators.countEvents()).rejects.toMatchObject(CHANGED)
      await expect(record('old_0')).rejects.toMatchObject(CHANGED)
    },
  )

  test.each(CHANGES)('R70: a beat finds that %s', async (_what, change) => {
    const { file, store } = await openWithBackup()
    const { now } = await store.events.beat(undefined)

    change(file)

    await expect(store.events.beat(now)).rejects.toMatchObject(CHANGED)
    await expect(store.operators.findEvent('any')).rejects.toMatchObject(CHANGED)
  })

  test.each(CHANGES)('R70: nothing is told to be done after %s', async (_what, change) => {
    const { file, store } = await openWithBackup()
    const group = await claim(store, { limit: 3 })
    await group.settle(group.events.map(done))

    change(file)

    expect(await group.commit()).toMatchObject({ status: 'unknown', error: CHANGED })
  })

  test.each(CHANGES.slice(0, 1))(
    'R70: what was acknowledged before %s is brought into the database file',
    async (_what, change) => {
      const { file, record } = await openWithBackup()

      change(file)
      await expect(record('lost')).rejects.toMatchObject(CHANGED)

      // As it would be found when the process is killed: without the log, which has no name any more.
      await expect.poll(() => countInCopy(file)).toBeGreaterThanOrEqual(40)
    },
  )

  test('R70: an answer that is on its way when the file is overwritten is not given', async () => {
    const { file, database, record } = await openWithBackup()
    await database.execute('begin immediate')
    const waiting = record('lost')
    waiting.catch(() => undefined)
    // The look for known keys is over when the store has begun to ask for the lock.
    await new Promise((resolve) => setImmediate(resolve))

    copy(`${file}.backup`, file)
    await database.execute('rollback')

    await expect(waiting).rejects.toMatchObject(CHANGED)
  })

  test('R70: senders get 503 and the store is told to be unavailable, with the cause', async () => {
    const { inbox, deliver, next, database } = await openInbox(underTest)
    await inbox.start()
    await deliver('evt_1')
    const unavailable = next('store.unavailable')

    unlinkSync(`${inboxDatabase(database).file}-wal`)

    expect(await deliver('evt_2')).toMatchObject({ status: 503 })
    expect((await unavailable).error).toMatchObject(CHANGED)
  })

  test('R70: a file that is reached through a link is watched where it is', async () => {
    const { database } = await openStore(underTest)
    const folder = await mkdtemp(join(tmpdir(), 'hookonce-link-'))
    onTestFinished(() => rm(folder, { recursive: true }))
    const link = join(folder, 'link.db')
    symlinkSync(database.file, link)
    const store = sqliteStore(link, { driver: DEFAULT_DRIVER })
    await store.open()
    onTestFinished(() => store.close())
    await store.events.record([anEventDraft()], { deadlineMs: 10_000 })

    unlinkSync(`${database.file}-wal`)

    await expect(
      store.events.record([anEventDraft({ key: 'lost' })], { deadlineMs: 10_000 }),
    ).rejects.toMatchObject(CHANGED)
  })
})

/** What became of the log after the event that the copy lacks, so that the event is in the database file. */
const WRITTEN_BY = [
  'pragma wal_checkpoint(passive)',
  'pragma wal_checkpoint(restart)',
  'pragma wal_checkpoint(truncate)',
]

describe('sqlite: a copy that lacks one small event, of the same size and with the same header', () => {
  test.each(WRITTEN_BY)(
    'R70: no delivery is acknowledged after it was copied over the file: %s',
    async (checkpoint) => {
      const { file, store, record, database } = await openWithSome()
      await copyWithout(file, {
        store: () => record('lacking'),
        write: () => database.query(checkpoint),
      })
      expect(await recordOne(store, anEventDraft({ key: 'before' }))).toMatchObject({
        status: 'accepted',
      })

      copy(`${file}.backup`, file)

      await expect(record('lost')).rejects.toMatchObject(CHANGED)
      await expect(record('lost')).rejects.toThrow('was overwritten')
    },
  )

  test('R70: nor when the store was opened after the event, so that its log is new', async () => {
    const { file, store, record, database } = await openWithSome()
    await copyWithout(file, {
      store: async () => {
        await record('lacking')
        await store.events.keepClock({ always: true })
      },
      write: () => database.query('pragma wal_checkpoint(truncate)'),
    })
    await store.close()
    const again = sqliteStore(file, { driver: DEFAULT_DRIVER })
    await again.open()
    onTestFinished(() => again.close())
    const recordAgain = (key: string) =>
      again.events.record([anEventDraft({ key })], { deadlineMs: 10_000 })
    expect(await recordAgain('before')).toHaveLength(1)

    copy(`${file}.backup`, file)

    await expect(recordAgain('lost')).rejects.toMatchObject(CHANGED)
  })

  test('R70: a beat finds it', async () => {
    const { file, store, record, database } = await openWithSome()
    await copyWithout(file, {
      store: () => record('lacking'),
      write: () => database.query('pragma wal_checkpoint(truncate)'),
    })
    const { now } = await store.events.beat(undefined)

    copy(`${file}.backup`, file)

    await expect(store.events.beat(now)).rejects.toMatchObject(CHANGED)
  })
})

async function openWithSome() {
  const opened = await openStore(underTest)
  const { file } = opened.database
  let nth = 0
  /** Every call has another event. */
  const record = (key: string) =>
    recordOne(opened.store, anEventDraft({ key: `${key}_${(nth += 1)}` }))
  for (let n = 0; n < 20; n += 1) await record('old')
  return { ...opened, file, record }
}

/** A copy that lacks what `store` stores and `write` brings into the database file, and looks like that file. */
async function copyWithout(
  file: string,
  { store, write }: { store: () => Promise<unknown>; write: () => Promise<unknown> },
): Promise<void> {
  // Now and then an event makes the file grow, and that any look would see.
  for (let tries = 0; tries < 20; tries += 1) {
    await write()
    copy(file, `${file}.backup`)
    await store()
    await write()
    if (readHead(file) === readHead(`${file}.backup`)) return
  }
  throw new Error('Every event makes the file grow')
}

/** Its size and its header, by another process. */
function readHead(file: string): string {
  return execFileSync('sh', [
    '-c',
    'stat -c %s "$0"; head -c 100 "$0" | od -An -tx1',
    file,
  ]).toString()
}

describe('sqlite: what may happen to the files of an open store', () => {
  test.each([
    'pragma wal_checkpoint(passive)',
    'pragma wal_checkpoint(full)',
    'pragma wal_checkpoint(restart)',
    'pragma wal_checkpoint(truncate)',
    'vacuum',
  ])('%s by another connection', async (sql) => {
    const { database, store, record } = await openWithBackup()

    for (let n = 0; n < 3; n += 1) {
      await database.execute(sql)
      expect(await record(`a_${n}`)).toMatchObject({ status: 'accepted' })
      expect(await record(`b_${n}`)).toMatchObject({ status: 'accepted' })
    }

    expect(await store.operators.countEvents()).toBe(46)
  })

  test('a checkpoint that comes while they are looked at', async () => {
    const { file, record } = await openWithBackup()
    const other = (await openDriver(DEFAULT_DRIVER)).open(file)
    onTestFinished(() => other.close())
    const { read } = LastingFile.prototype
    let checkpoints = 0
    vi.spyOn(LastingFile.prototype, 'read').mockImplementation(function (
      this: LastingFile,
      length: number,
      at?: number,
    ) {
      const bytes = read.call(this, length, at)
      // The header of the database file was read, and what says how far the checkpoint is was not.
      if (length === 100) {
        other.execute('create table t (x)')
        other.execute('drop table t')
        other.prepare('pragma wal_checkpoint(passive)').all([])
        checkpoints += 1
      }
      return bytes
    })
    onTestFinished(() => void vi.restoreAllMocks())

    expect(await record('first')).toMatchObject({ status: 'accepted' })
    vi.restoreAllMocks()

    expect(checkpoints).toBeGreaterThan(0)
    expect(await record('second')).toMatchObject({ status: 'accepted' })
  })

  test('a new time of its last change', async () => {
    const { file, record } = await openWithBackup()

    utimesSync(file, new Date(), new Date(0))

    expect(await record('later')).toMatchObject({ status: 'accepted' })
  })

  test('a log that grows until SQLite empties it by itself', { timeout: 120_000 }, async () => {
    const { store } = await openStore(underTest)
    const body = 'x'.repeat(20_000)

    for (let n = 0; n < 600; n += 1) await recordOne(store, anEventDraft({ key: `evt_${n}`, body }))

    expect(await store.operators.countEvents()).toBe(600)
  })

  test('another process that writes to them all the time', { timeout: 120_000 }, async () => {
    const { database, store } = await openStore(underTest)
    const program = new URL('./checkpoint-often.ts', import.meta.url)
    const child = fork(program, [database.file, DEFAULT_DRIVER], { execArgv: ['--import', 'tsx'] })
    onTestFinished(() => void child.kill('SIGKILL'))
    await once(child, 'message')

    for (let n = 0; n < 300; n += 1) await recordOne(store, anEventDraft({ key: `evt_${n}` }))
    child.kill('SIGKILL')
    await once(child, 'exit')

    expect(await recordOne(store, anEventDraft({ key: 'last' }))).toMatchObject({
      status: 'accepted',
    })
    expect(await store.operators.countEvents()).toBe(301)
  })
})

async function countInCopy(file: string): Promise<number> {
  copy(file, `${file}.copy`)
  const handle = (await openDriver(DEFAULT_DRIVER)).open(`${file}.copy`)
  try {
    return Number(
      handle.prepare('select count(*) as found from hookonce_events').all([])[0]?.['found'],
    )
  } finally {
    handle.close()
  }
}
