import { describe, expect, test } from 'vitest'
import { done, nextDueInMs } from '../../support/store-steps.ts'
import type { StoreUnderTest } from '../../support/store-under-test.ts'
import { openLentGroup, WRITE_EFFECT } from './lent-group.ts'
import type { LentContractOptions } from './lent-group.ts'

const COUNT = 'select count(*) as found from effects'

/** What every store must do with what a handler writes without waiting for it. Part of `claimContract`. */
export function lentWritesContract(
  underTest: StoreUnderTest,
  options: LentContractOptions = { opensLate: false },
): void {
  const how = options.opensLate ? ', opened late' : ''
  describe(`${underTest.name}: writes that the handler does not wait for${how}`, () => {
    async function openGroup() {
      const opened = await openLentGroup(underTest, options)
      const { group, lent } = opened
      const write = (note: string) => lent.tx.write(WRITE_EFFECT, ['evt_1', note])
      const count = async () => Number((await lent.tx.query(COUNT)).rows[0]?.['found'])
      const end = async () => {
        await group.flush()
        await group.settle(group.events.map(done))
        return group.commit()
      }
      return { ...opened, write, count, end }
    }

    test('become visible with the commit', async () => {
      const { group, write, countEffects } = await openGroup()
      write('one')
      write('two')
      await group.flush()
      expect(group.hasWrites()).toBe(false)
      await group.settle(group.events.map(done))
      expect(await countEffects()).toBe(0)

      expect(await group.commit()).toEqual({ status: 'committed' })

      expect(await countEffects('evt_1')).toBe(2)
    })

    test('are sent by the end of the handler as well', async () => {
      const { lent, write, end, countEffects } = await openGroup()
      write('one')

      await lent.flush()
      await lent.revoke()

      expect(await end()).toEqual({ status: 'committed' })
      expect(await countEffects()).toBe(1)
    })

    test.each(['never sent', 'sent'])('vanish when the group is abandoned, %s', async (how) => {
      const { group, write, countEffects, store } = await openGroup()
      write('one')
      if (how === 'sent') await group.flush()

      await group.abandon()

      expect(await countEffects()).toBe(0)
      expect(await nextDueInMs(store)).toBe(0)
    })

    test.each(['never sent', 'sent'])('vanish with a rollback to a savepoint, %s', async (how) => {
      const { group, lent, write, countEffects, end, database } = await openGroup()
      write('kept')
      // One that has to wait for SQLite's writer is sent at the end of its handler.
      await lent.flush()
      await group.setSavepoint('m')
      write('undone')
      if (how === 'sent') await group.flush()

      await group.rollbackTo('m')
      expect(group.hasWrites()).toBe(false)
      write('kept as well')

      expect(await end()).toEqual({ status: 'committed' })
      expect(await countEffects()).toBe(2)
      expect(await database.query(`select note from effects where note = 'undone'`)).toEqual([])
    })

    test('are seen by what is asked after them', async () => {
      const { group, write, count } = await openGroup()
      expect(await count()).toBe(0)
      write('one')
      expect(await count()).toBe(1)
      write('two')
      write('three')
      expect(await count()).toBe(3)
      await group.abandon()
    })

    test('are not seen by what was asked before them, also when the handler did not wait for it', async () => {
      const { group, write, count } = await openGroup()
      write('one')

      const first = count()
      write('two')
      const second = count()
      write('three')

      expect([await first, await second, await count()]).toEqual([1, 2, 3])
      await group.abandon()
    })

    test('have the values that they had when they were called', async () => {
      const { lent, end, database } = await openGroup()
      const params = ['evt_1', 'as it was']

      lent.tx.write(WRITE_EFFECT, params)
      params[1] = 'changed'
      params.push('one more')

      expect(await end()).toEqual({ status: 'committed' })
      expect(await database.query('select note from effects')).toEqual([{ note: 'as it was' }])
    })

    test('need no values', async () => {
      const { lent, end, countEffects } = await openGroup()

      lent.tx.write(`insert into effects (event_key, note) values ('evt_1', 'plain')`)

      expect(await end()).toEqual({ status: 'committed' })
      expect(await countEffects()).toBe(1)
    })

    test('are refused at the call once the transaction was taken back', async () => {
      const { lent, write, end, countEffects } = await openGroup()
      write('before')
      await lent.revoke()

      expect(() => write('after')).toThrow(expect.objectContaining({ code: 'TX_REVOKED' }))

      expect(await end()).toEqual({ status: 'committed' })
      expect(await countEffects()).toBe(1)
    })

    test('are refused at the call once the transaction was taken back without waiting', async () => {
      const { group, lent, write } = await openGroup()

      lent.revokeNow()

      expect(() => write('after')).toThrow(expect.objectContaining({ code: 'TX_REVOKED' }))
      await group.abandon()
    })

    test('are refused at the call after the commit', async () => {
      const { group, write, end, countEffects } = await openGroup()
      await end()

      expect(() => write('late')).toThrow()
      expect(group.hasWrites()).toBe(false)
      expect(await countEffects()).toBe(0)
    })

    test('are refused at the call where they would end the transaction', async () => {
      const { group, lent, write, end, countEffects } = await openGroup()

      for (const sql of ['commit', ' \n\tbegin', '/* ; */ rollback', 'select 1; savepoint x']) {
        expect(() => lent.tx.write(sql), sql).toThrow(
          expect.objectContaining({ code: 'TRANSACTION_CONTROL' }),
        )
      }

      expect(group.status()).toBe('open')
      write('one')
      expect(await end()).toEqual({ status: 'committed' })
      expect(await countEffects()).toBe(1)
    })

    test('are refused at the call when they are no text with a list of values', async () => {
      const { group, lent } = await openGroup()
      const write = lent.tx.write as (...all: unknown[]) => void

      for (const given of [
        [undefined],
        [{ text: 'select 1' }],
        [7, []],
        ['select $1', { a: 1 }],
        ['select 1', () => undefined],
        ['select 1', null],
      ]) {
        expect(() => write(...given), JSON.stringify(given)).toThrow(
          expect.objectContaining({ code: 'OPTION_INVALID' }),
        )
      }

      expect(group.hasWrites()).toBe(false)
      await group.abandon()
    })
  })
}
