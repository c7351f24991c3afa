import { expect, test } from 'vitest'
import { connectSqlite } from '../support/own-connection.ts'
import { sqliteUnderTest } from '../support/sqlite-under-test.ts'
import type { SqliteDatabaseUnderTest } from '../support/sqlite-under-test.ts'
import { onceContract, openOnce, writeEffect } from './once.ts'
import type { OnceUnderTest } from './once.ts'

const subject: OnceUnderTest = {
  store: sqliteUnderTest('libsql'),
  connect: (database) => connectSqlite((database as SqliteDatabaseUnderTest).file),
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
