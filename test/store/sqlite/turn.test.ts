import { describe, expect, onTestFinished, test } from 'vitest'
import { Connections } from '../../../src/store/sqlite/connections.ts'
import { resolveSqliteStoreOptions } from '../../../src/store/sqlite/options.ts'
import { DEFAULT_DRIVER, sqliteUnderTest } from '../../support/sqlite-under-test.ts'
import { openStore } from '../../support/store-under-test.ts'

/** A slot whose turn is over, and another one in the midst of its transaction. */
describe('sqlite: a turn of the writer that is over', () => {
  test('H23: ends no transaction of the next one', async () => {
    const { over, next } = await takeTurns()

    over.rollback()
    over.giveBack()

    expect(next.connection.inTransaction()).toBe(true)
    next.commit()
    next.giveBack()
  })

  test('H23: runs nothing and commits nothing in the transaction of the next one', async () => {
    const { over, next } = await takeTurns()

    expect(() => over.connection).toThrow('is over')
    expect(() => over.commit()).toThrow('is over')
    expect(() => over.tryBegin()).toThrow('is over')
    await expect(over.transact({ deadline: Infinity, durable: true }, () => 'ran')).rejects.toThrow(
      'is over',
    )

    expect(next.connection.inTransaction()).toBe(true)
    next.rollback()
    next.giveBack()
  })
})

async function takeTurns() {
  const { database } = await openStore(sqliteUnderTest(DEFAULT_DRIVER))
  const options = resolveSqliteStoreOptions({ driver: DEFAULT_DRIVER })
  const connections = new Connections(database.file, options)
  await connections.open()
  onTestFinished(() => connections.close(async () => {}))
  const { writer } = connections.getOpen()
  const over = await writer.acquire(Infinity)
  over.giveBack()
  const next = await writer.acquire(Infinity)
  await next.begin(Infinity)
  return { over, next }
}
