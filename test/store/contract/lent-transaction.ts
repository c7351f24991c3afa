import { describe, expect, test } from 'vitest'
import { done } from '../../support/store-steps.ts'
import type { StoreUnderTest } from '../../support/store-under-test.ts'
import { openLentGroup, WRITE_EFFECT } from './lent-group.ts'
import type { LentContractOptions } from './lent-group.ts'

/** What a transaction that is lent does with SQL. What it does with any store is in the conformance suite. */
export function lentTransactionContract(
  underTest: StoreUnderTest,
  options: LentContractOptions = { opensLate: false },
): void {
  const how = options.opensLate ? ', opened late' : ''
  describe(`${underTest.name}: the lent transaction${how}`, () => {
    async function openGroup() {
      const opened = await openLentGroup(underTest, options)
      const write = (note: string) => opened.lent.tx.query(WRITE_EFFECT, ['evt_1', note])
      return { ...opened, write }
    }

    test.each<[string, readonly unknown[]]>([
      ['nothing', []],
      ['a text that is none', [5]],
      ['values that are no list', ['select 1', 'one']],
      ['values by name', ['select 1', { one: 1 }]],
    ])('%s is refused by name, and the transaction goes on', async (_what, given) => {
      const { group, lent, write } = await openGroup()
      const query = lent.tx.query.bind(lent.tx) as (...args: readonly unknown[]) => Promise<unknown>

      await expect(query(...given)).rejects.toMatchObject({ code: 'OPTION_INVALID' })

      await write('one')
      await group.settle(group.events.map(done))
      expect(await group.commit()).toEqual({ status: 'committed' })
    })

    test('a failed statement can be undone by a rollback to a savepoint', async () => {
      const { group, lent, write, countEffects } = await openGroup()
      await group.setSavepoint('m')

      await expect(lent.tx.query('insert into no_such_table values (1)')).rejects.toThrow()
      expect(group.status()).toBe(underTest.capabilities.failedStatementAborts ? 'failed' : 'open')
      await group.rollbackTo('m')

      expect(group.status()).toBe('open')
      await write('after')
      await group.settle(group.events.map(done))
      expect(await group.commit()).toEqual({ status: 'committed' })
      expect(await countEffects()).toBe(1)
    })

    test('rows and their count come back', async () => {
      const { group, lent, write } = await openGroup()
      await write('a')
      await write('b')

      const found = await lent.tx.query(
        'select note from effects where event_key = $1 order by note',
        ['evt_1'],
      )
      const updated = await lent.tx.query('update effects set note = $2 where note = $1', [
        'a',
        'c',
      ])
      const none = await lent.tx.query('select note from effects where note = $1', ['z'])

      expect(found.rows).toEqual([{ note: 'a' }, { note: 'b' }])
      expect(found.rowCount).toBe(2)
      expect(updated.rowCount).toBe(1)
      expect(none).toMatchObject({ rows: [], rowCount: 0 })
      await group.abandon()
    })

    const refused = [
      'commit',
      'COMMIT;',
      ' \n\tbegin',
      'rollback',
      'end',
      'savepoint x',
      'release x',
      '-- a comment\ncommit',
      '/* a comment */ commit',
      "select ';' ; commit",
      'select 1; /* ; */ rollback',
    ]

    test.each(refused)('it refuses %j', async (sql) => {
      const { group, lent, write, countEffects } = await openGroup()
      await write('one')

      await expect(lent.tx.query(sql)).rejects.toMatchObject({ code: 'TRANSACTION_CONTROL' })

      expect(group.status()).toBe('open')
      await group.abandon()
      expect(await countEffects()).toBe(0)
    })

    test('words that only look like transaction control are let through', async () => {
      const { group, lent } = await openGroup()

      const { rows } = await lent.tx.query(`select 'commit; rollback' as "end" -- ; commit`)

      expect(rows).toEqual([{ end: 'commit; rollback' }])
      await group.abandon()
    })
  })
}
