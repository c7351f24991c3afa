import { describe, expect, test } from 'vitest'
import { readNestedControl } from '../../../src/store/shared/nested-control.ts'
import type { SqlDialect } from '../../../src/store/shared/transaction-control.ts'

describe('a statement of transaction control, for code that opens transactions itself', () => {
  test.each<[string, string]>([
    ['begin', 'begin'],
    ['BEGIN;', 'begin'],
    ['begin work', 'begin'],
    ['START TRANSACTION', 'begin'],
    ['begin isolation level read committed', 'begin'],
    ['start transaction isolation level read committed, read write', 'begin'],
    ['BEGIN TRANSACTION ISOLATION LEVEL READ COMMITTED READ WRITE NOT DEFERRABLE', 'begin'],
    ['commit', 'commit'],
    ['COMMIT WORK AND NO CHAIN ;', 'commit'],
    ['end transaction', 'commit'],
    ['rollback', 'rollback'],
    ['-- because\nROLLBACK TRANSACTION', 'rollback'],
    ['abort', 'rollback'],
    ['savepoint a', 'savepoint a'],
    ['SAVEPOINT Trx2;', 'savepoint trx2'],
    ['savepoint "Trx2"', 'savepoint Trx2'],
    ['release savepoint a', 'release a'],
    ['RELEASE a;', 'release a'],
    ['rollback to savepoint a', 'rollback-to a'],
    ['ROLLBACK TO a', 'rollback-to a'],
    ['rollback transaction to savepoint savepoint', 'rollback-to savepoint'],
  ])('%j is %s', (sql, meant) => {
    const read = readNestedControl(sql, 'postgres')
    expect(read && ('name' in read ? `${read.verb} ${read.name}` : read.verb)).toBe(meant)
  })

  test.each(['begin', 'begin deferred', 'BEGIN IMMEDIATE TRANSACTION', 'begin exclusive;'])(
    'SQLite knows %j',
    (sql) => {
      expect(readNestedControl(sql, 'sqlite')).toMatchObject({ verb: 'begin' })
    },
  )

  test.each<[string, SqlDialect]>([
    ['select 1', 'postgres'],
    ['', 'postgres'],
    ['begin; commit', 'postgres'],
    ['commit; select 1', 'postgres'],
    ['commit and chain', 'postgres'],
    [`commit prepared 'a'`, 'postgres'],
    ['rollback and chain', 'postgres'],
    ['savepoint', 'postgres'],
    ['savepoint a b', 'postgres'],
    ['savepoint "a""b"', 'postgres'],
    [`select 'begin'`, 'sqlite'],
  ])('%j is none, and is judged like any other statement', (sql, dialect) => {
    expect(readNestedControl(sql, dialect)).toBeUndefined()
  })

  test.each([
    'begin isolation level serializable',
    'start transaction isolation level repeatable read, read write',
    'begin read only',
  ])('%j is refused: a nested transaction has the isolation of the one around it', (sql) => {
    expect(() => readNestedControl(sql, 'postgres')).toThrow(
      expect.objectContaining({ code: 'TRANSACTION_CONTROL' }),
    )
  })
})
