import { describe, expect, test } from 'vitest'
import { checkTransactions } from '../../src/cli/doctor/check-transactions.ts'
import type { OpenTransaction } from '../../src/index.ts'

const AT = new Date('2026-11-16T03:00:00Z')
const SESSION: OpenTransaction = {
  kind: 'session',
  name: '4711',
  role: 'reports',
  application: 'psql',
  since: new Date('2026-11-16T02:59:00Z'),
  behind: 5,
}
const SLOT: OpenTransaction = {
  kind: 'slot',
  name: 'replica_2',
  role: undefined,
  application: undefined,
  since: undefined,
  behind: 5_000_000,
}

describe('C17: the doctor on transactions that are open', () => {
  test('says nothing where the database cannot tell', () => {
    expect(checkTransactions(AT, undefined)).toEqual([])
  })

  test('finds nothing wrong with those of a minute', () => {
    expect(checkTransactions(AT, [SESSION])).toEqual([
      { level: 'ok', check: 'transactions', message: 'none is open for long' },
    ])
  })

  test('names those that are old, or hold much back', () => {
    const old = { ...SESSION, since: new Date('2026-11-16T01:00:00Z') }

    const found = checkTransactions(AT, [old, SESSION, SLOT])

    expect(found.map(({ level, message }) => `${level}: ${message}`)).toEqual([
      'warning: session 4711 (reports, psql), open for 2 hours, holds back 5 transactions',
      'warning: replication slot replica_2, holds back 5000000 transactions',
    ])
    expect(found[0]?.advice).toContain('docs/runbook.md, "A transaction that stays open"')
  })
})
