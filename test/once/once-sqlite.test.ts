import path from 'node:path'
import { expect, test } from 'vitest'
import { findNewerNode, run } from '../support/newer-node.ts'
import { connectSqlite } from '../support/own-connection.ts'
import { sqliteUnderTest } from '../support/sqlite-under-test.ts'
import type { SqliteDatabaseUnderTest } from '../support/sqlite-under-test.ts'
import { createSqlite } from '../support/sqlite-database.ts'
import { onceContract, openOnce, writeEffect } from './once.ts'
import type { OnceUnderTest } from './once.ts'

const subject: OnceUnderTest = {
  store: sqliteUnderTest('libsql'),
  connect: (database) => connectSqlite((database as SqliteDatabaseUnderTest).file, 'libsql'),
}

onceContract(subject)

test('SQLite: once in a transaction that was begun without IMMEDIATE', async () => {
  const { inbox, connect, countEffects } = await openOnce(subject)
  const own = await connect()

  await own.run('begin')
  const first = await inbox.once(own.tx, { source: 'jobs', key: 'k' }, () => writeEffect(own, 'k'))
  await own.run('commit')

  expect(first).toMatchObject({ status: 'first' })
  expect(await countEffects('k')).toBe(1)
})

test('SQLite: asking whether a transaction is open leaves the deferring of foreign keys as it was', async () => {
  const { inbox, connect } = await openOnce(subject)
  const own = await connect()
  const isDeferred = async () => (await own.tx.query('pragma defer_foreign_keys')).rows

  for (const [key, value] of [
    ['off', 0],
    ['on', 1],
  ] as const) {
    await own.begin()
    await own.run(`pragma defer_foreign_keys = ${key}`)
    await inbox.once(own.tx, { source: 'jobs', key }, () => undefined)
    expect(await isDeferred()).toMatchObject([{ defer_foreign_keys: value }])
    await own.run('commit')
  }
})

test('SQLite: a connection of another SQLite than that of the store is refused before anything is written', async () => {
  const { inbox, connect, countEffects } = await openOnce(subject)
  const own = await connect()
  await inbox.start()
  const another = {
    query: (text: string, values?: unknown[]) =>
      own.tx.query(
        text.includes('sqlite_source_id') ? "select '2020-01-01 of another' as source" : text,
        values,
      ),
  }

  await own.begin()
  const refused = inbox.once(another, { source: 'jobs', key: 'k' }, () => writeEffect(own, 'k'))

  await expect(refused).rejects.toMatchObject({
    code: 'STORE_UNSAFE',
    message: expect.stringContaining('2020-01-01 beside 20') as string,
  })
  await own.run('commit')
  expect(await countEffects('k')).toBe(0)
})

test(
  'SQLite: libsql beside the SQLite of a newer Node is refused',
  { timeout: 300_000 },
  async ({ onTestFinished, skip }) => {
    const node = await findNewerNode()
    if ('missing' in node) return skip(node.missing)
    const { file, close } = await createSqlite()
    onTestFinished(close)
    const program = path.join(import.meta.dirname, 'once-on-two-libraries.ts')

    const { output } = await run(
      node.path,
      ['--import', import.meta.resolve('tsx'), program, file],
      { NODE_OPTIONS: '' },
    )

    expect(output).toContain('node:sqlite: STORE_UNSAFE\n')
    expect(output).toContain('libsql: first\n')
  },
)
