import { describe, expect, onTestFinished, test } from 'vitest'
import { aSignal } from '../../support/a-signal.ts'
import { done } from '../../support/store-steps.ts'
import type { StoreUnderTest } from '../../support/store-under-test.ts'
import { openLentGroup, WRITE_EFFECT } from './lent-group.ts'
import type { LentContractOptions } from './lent-group.ts'

/** What every store must do with the savepoints of a handler. Part of `claimContract`. */
export function savepointsContract(
  underTest: StoreUnderTest,
  options: LentContractOptions = { opensLate: false },
): void {
  const how = options.opensLate ? ', in a transaction that is opened late' : ''

  async function openGroup() {
    const opened = await openLentGroup(underTest, options)
    const { group, lent, database } = opened
    const { tx } = lent
    return {
      ...opened,
      tx,
      query: (note: string) => tx.query(WRITE_EFFECT, ['evt_1', note]),
      write: (note: string) => tx.write(WRITE_EFFECT, ['evt_1', note]),
      /** What is there once the handler has ended and the group is committed. */
      commit: async () => {
        lent.requireClosed()
        await lent.flush()
        await lent.revoke()
        await group.settle(group.events.map(done))
        expect(await group.commit()).toEqual({ status: 'committed' })
        const rows = await database.query('select note from effects order by note')
        return rows.map(({ note }) => note)
      },
    }
  }

  describe(`${underTest.name}: a savepoint of a handler${how}`, () => {
    test('that ends well keeps what was written in it, and gives what its function returned', async () => {
      const { tx, query, commit } = await openGroup()
      await query('before')

      const returned = await tx.savepoint(async (given) => {
        await given.query(WRITE_EFFECT, ['evt_1', 'inside'])
        return 7
      })

      expect(returned).toBe(7)
      expect(await commit()).toEqual(['before', 'inside'])
    })

    test('whose function throws keeps nothing of it and all that was before, and throws the same', async () => {
      const { tx, query, write, commit } = await openGroup()
      const error = new Error('Out of stock')
      write('before')

      const savepoint = tx.savepoint(async () => {
        await query('inside')
        write('inside, not waited for')
        throw error
      })

      await expect(savepoint).rejects.toBe(error)
      write('after')
      expect(await commit()).toEqual(['after', 'before'])
    })

    test('takes back what the database refused, and the handler goes on', async () => {
      const { tx, query, commit } = await openGroup()

      const savepoint = tx.savepoint(async () => {
        await query('inside')
        await tx.query('insert into no_such_table values (1)')
      })

      await expect(savepoint).rejects.toThrow(/no_such_table/)
      await query('after')
      expect(await commit()).toEqual(['after'])
    })

    test('takes back a write that the database refused', async () => {
      const { tx, query, write, commit } = await openGroup()

      const savepoint = tx.savepoint(() => {
        write('inside')
        tx.write('insert into no_such_table values (1)')
      })

      await expect(savepoint).rejects.toThrow(/no_such_table/)
      await query('after')
      expect(await commit()).toEqual(['after'])
    })

    test('whose function throws before it returns a promise is taken back like any other', async () => {
      const { tx, write, commit } = await openGroup()

      const savepoint = tx.savepoint(() => {
        write('inside')
        throw new Error('At once')
      })

      await expect(savepoint).rejects.toThrow('At once')
      expect(await commit()).toEqual([])
    })

    test('can have others in it, each with its own end', async () => {
      const { tx, query, commit } = await openGroup()

      await tx.savepoint(async () => {
        await query('1')
        await tx.savepoint(async () => query('1.1'))
        await tx
          .savepoint(async () => {
            await query('1.2')
            await tx.savepoint(async () => query('1.2.1'))
            throw new Error('Undone with all in it')
          })
          .catch(() => undefined)
        await query('1.3')
      })
      await tx.savepoint(async () => query('2'))

      expect(await commit()).toEqual(['1', '1.1', '1.3', '2'])
    })

    test('can be one of hundreds, one after the other', async () => {
      const { tx, query, commit } = await openGroup()
      for (let n = 0; n < 200; n += 1) {
        await tx
          .savepoint(async () => {
            await query(`${n}`)
            if (n % 2 === 1) throw new Error('Odd')
          })
          .catch(() => undefined)
      }

      expect(await commit()).toHaveLength(100)
    })

    test('beside another one fails the handler, whatever it catches', async () => {
      const { lent, group, tx, query } = await openGroup()
      let endFirst = (): void => undefined
      const firstMayEnd = new Promise<void>((resolve) => (endFirst = resolve))

      const first = tx.savepoint(async () => {
        await query('first')
        await firstMayEnd
      })
      const second = tx.savepoint(async () => {
        await query('second')
        endFirst()
        await first.catch(() => undefined)
      })

      await expect(first).rejects.toMatchObject({ code: 'TRANSACTION_CONTROL' })
      await expect(second).rejects.toMatchObject({ code: 'TRANSACTION_CONTROL' })
      expect(() => lent.requireClosed()).toThrow('side by side')
      await group.abandon()
    })

    test('that is open when the handler returns fails the handler', async () => {
      const { lent, group, tx, query } = await openGroup()
      void tx.savepoint(async () => {
        await query('inside')
        await new Promise(() => undefined)
      })
      await query('beside')

      expect(() => lent.requireClosed()).toThrow('Is an await missing?')
      await group.abandon()
    })

    test('is refused when the handler has returned', async () => {
      const { lent, group, tx, query, countEffects } = await openGroup()
      let hasRun = false
      await lent.revoke()

      const savepoint = tx.savepoint(async () => {
        hasRun = true
      })

      await expect(savepoint).rejects.toMatchObject({ code: 'TX_REVOKED' })
      expect(hasRun).toBe(false)
      await expect(query('late')).rejects.toMatchObject({ code: 'TX_REVOKED' })
      await group.abandon()
      expect(await countEffects()).toBe(0)
    })

    test('that is refused while the handler does not wait for it ends no process', async () => {
      const { lent, group, tx } = await openGroup()
      const unheard: unknown[] = []
      const hear = (error: unknown): number => unheard.push(error)
      process.on('unhandledRejection', hear)
      onTestFinished(() => void process.off('unhandledRejection', hear))
      await lent.revoke()

      void tx.savepoint(() => undefined)
      void tx.asNested().query('begin')
      // Node tells of those without a listener when the promises at hand have run.
      await new Promise((resolve) => setImmediate(resolve))

      expect(unheard).toEqual([])
      await group.abandon()
    })

    test('writes nothing more when the handler runs out of time in it', async () => {
      const { lent, group, tx, query, countEffects } = await openGroup()
      await group.setSavepoint('before')
      const savepoint = tx.savepoint(async () => {
        await query('inside')
        lent.revokeNow()
        await query('late')
      })

      await expect(savepoint).rejects.toMatchObject({ code: 'TX_REVOKED' })

      await group.rollbackTo('before')
      await group.settle(group.events.map(done))
      expect(await group.commit()).toEqual({ status: 'committed' })
      expect(await countEffects()).toBe(0)
    })

    test('without a function is refused by name', async () => {
      const { group, tx } = await openGroup()

      await expect(tx.savepoint(undefined as never)).rejects.toMatchObject({
        code: 'OPTION_INVALID',
      })
      await group.abandon()
    })
  })

  describe(`${underTest.name}: code that opens transactions itself${how}`, () => {
    test.each([
      ['begin', 'commit'],
      ['BEGIN;', 'COMMIT;'],
      ['begin transaction', 'end'],
      ['/* orm */ begin -- now', 'commit transaction'],
    ])('has %j and %j as a savepoint where it is asked for', async (begin, commitText) => {
      const { tx, query, commit } = await openGroup()
      const nested = tx.asNested()
      await query('before')

      await nested.query(begin)
      await nested.query(WRITE_EFFECT, ['evt_1', 'inside'])
      await nested.query(commitText)

      expect(await commit()).toEqual(['before', 'inside'])
    })

    test('rolls back to where it began, and no further', async () => {
      const { tx, query, commit } = await openGroup()
      const nested = tx.asNested()
      await query('before')

      await nested.query('begin')
      await nested.query(WRITE_EFFECT, ['evt_1', 'inside'])
      await expect(nested.query('insert into no_such_table values (1)')).rejects.toThrow()
      await nested.query('rollback')
      await query('after')

      expect(await commit()).toEqual(['after', 'before'])
    })

    test('has savepoints of its own names in it', async () => {
      const { tx, commit } = await openGroup()
      const nested = tx.asNested()
      const query = (note: string) => nested.query(WRITE_EFFECT, ['evt_1', note])

      await nested.query('begin')
      await query('1')
      await nested.query('savepoint sp1')
      await query('2')
      await nested.query('savepoint "sp2"')
      await query('3')
      await nested.query('rollback to savepoint sp1')
      await query('4')
      await nested.query('SAVEPOINT SP2')
      await query('5')
      await nested.query('release savepoint sp2')
      await nested.query('release sp1')
      await nested.query('begin')
      await query('6')
      await nested.query('rollback')
      await nested.query('commit')

      expect(await commit()).toEqual(['1', '4', '5'])
    })

    test.each(['commit', 'rollback', 'end', 'release x', 'rollback to savepoint x'])(
      'cannot end what it has not begun: %s',
      async (sql) => {
        const { tx, query, commit } = await openGroup()
        await query('before')
        const nested = tx.asNested()

        await expect(nested.query(sql)).rejects.toMatchObject({ code: 'TRANSACTION_CONTROL' })
        await tx.savepoint(async () => {
          await expect(nested.query(sql)).rejects.toMatchObject({ code: 'TRANSACTION_CONTROL' })
        })
        await nested.query('begin')
        await nested.query('savepoint y')
        if (!/^(?:commit|rollback|end)$/.test(sql))
          await expect(nested.query(sql)).rejects.toMatchObject({ code: 'TRANSACTION_CONTROL' })
        await nested.query('commit')

        expect(await commit()).toEqual(['before'])
      },
    )

    test('cannot end what was begun around a function, or around its own transaction', async () => {
      const { tx, query, commit } = await openGroup()
      const nested = tx.asNested()
      const refused = { code: 'TRANSACTION_CONTROL' }
      await nested.query('begin')
      await nested.query('savepoint outer_one')
      await tx.savepoint(async () => {
        await query('in a function')
        await expect(nested.query('rollback')).rejects.toMatchObject(refused)
        await expect(nested.query('release outer_one')).rejects.toMatchObject(refused)
      })
      await nested.query('begin')
      await query('in a transaction')
      await expect(nested.query('rollback to outer_one')).rejects.toMatchObject(refused)
      await nested.query('commit')
      await nested.query('commit')

      expect(await commit()).toEqual(['in a function', 'in a transaction'])
    })

    test.each(['begin; select 1', 'select 1; commit', 'commit and chain', 'begin; commit'])(
      'is refused %j all the same',
      async (sql) => {
        const { group, tx, query, commit } = await openGroup()
        await query('before')
        const nested = tx.asNested()

        await expect(nested.query(sql)).rejects.toMatchObject({ code: 'TRANSACTION_CONTROL' })

        expect(group.status()).toBe('open')
        expect(await commit()).toEqual(['before'])
      },
    )

    test('is refused everything where it was not asked for', async () => {
      const { tx, commit } = await openGroup()
      tx.asNested()

      for (const sql of ['begin', 'commit', 'rollback', 'savepoint x'])
        await expect(tx.query(sql)).rejects.toMatchObject({ code: 'TRANSACTION_CONTROL' })

      expect(await commit()).toEqual([])
    })

    test('speaks for itself: one that commits while another has begun fails the handler', async () => {
      const { lent, group, tx } = await openGroup()
      const [one, other] = [tx.asNested(), tx.asNested()]
      await one.query('begin')
      await other.query('begin')

      await expect(one.query('commit')).rejects.toMatchObject({ code: 'TRANSACTION_CONTROL' })

      expect(() => lent.requireClosed()).toThrow('side by side')
      await group.abandon()
    })

    test('cannot end what another has begun, nor go back to its savepoint', async () => {
      const { tx, commit } = await openGroup()
      const [one, other] = [tx.asNested(), tx.asNested()]
      const refused = { code: 'TRANSACTION_CONTROL' }
      await one.query('begin')
      await one.query('savepoint a')

      for (const sql of ['commit', 'rollback', 'release a', 'rollback to a'])
        await expect(other.query(sql)).rejects.toMatchObject(refused)
      await one.query(WRITE_EFFECT, ['evt_1', 'kept'])
      await one.query('release a')
      await one.query('commit')

      expect(await commit()).toEqual(['kept'])
    })

    test('hears that another has undone its transaction, and writes nothing outside of it', async () => {
      const { lent, group, tx } = await openGroup()
      const [one, other] = [tx.asNested(), tx.asNested()]
      await one.query('begin')
      await other.query('begin')
      await one.query('rollback')

      const late = other.query(WRITE_EFFECT, ['evt_1', 'late'])

      await expect(late).rejects.toMatchObject({ code: 'TRANSACTION_CONTROL' })
      expect(() => lent.requireClosed()).toThrow('side by side')
      await group.abandon()
    })

    test('hears that the savepoint around its transaction was undone, and writes nothing outside of it', async () => {
      const { lent, group, tx } = await openGroup()
      const nested = tx.asNested()
      const library = aSignal()
      const check = aSignal()
      const both = tx.savepoint(() =>
        Promise.all([
          nested
            .query('begin')
            .then(() => nested.query(WRITE_EFFECT, ['evt_1', 'one']))
            .then(library.give),
          check.given.then(() => Promise.reject(new Error('Out of stock'))),
        ]),
      )
      await library.given
      check.give()
      await expect(both).rejects.toThrow('Out of stock')

      const late = nested.query(WRITE_EFFECT, ['evt_1', 'two'])

      await expect(late).rejects.toMatchObject({ code: 'TRANSACTION_CONTROL' })
      expect(() => lent.requireClosed()).toThrow('side by side')
      await group.abandon()
    })

    test('may roll back what the savepoint around it has undone, and the handler goes on', async () => {
      const { tx, query, commit } = await openGroup()
      const nested = tx.asNested()
      const undone = tx.savepoint(async () => {
        await nested.query('begin')
        await nested.query(WRITE_EFFECT, ['evt_1', 'undone'])
        throw new Error('Out of stock')
      })
      await expect(undone).rejects.toThrow('Out of stock')
      await nested.query('rollback')
      await nested.query('begin')
      await nested.query(WRITE_EFFECT, ['evt_1', 'again'])
      await nested.query('commit')
      await query('after')

      expect(await commit()).toEqual(['after', 'again'])
    })

    test('may roll back what another has undone already, and the handler goes on', async () => {
      const { tx, query, commit } = await openGroup()
      const [one, other] = [tx.asNested(), tx.asNested()]
      await one.query('begin')
      await other.query('begin')
      await other.query(WRITE_EFFECT, ['evt_1', 'undone'])
      await one.query('rollback')
      await other.query('rollback')
      await other.query('begin')
      await other.query(WRITE_EFFECT, ['evt_1', 'again'])
      await other.query('commit')
      await query('after')

      expect(await commit()).toEqual(['after', 'again'])
    })

    test.each(['commit', 'rollback'])(
      'may begin while the %s of another is on its way',
      async (end) => {
        const { tx, commit } = await openGroup()
        const [one, other] = [tx.asNested(), tx.asNested()]
        await one.query('begin')
        await one.query(WRITE_EFFECT, ['evt_1', 'one'])

        await Promise.all([one.query(end), other.query('begin')])
        await other.query(WRITE_EFFECT, ['evt_1', 'other'])
        await other.query('commit')

        expect(await commit()).toEqual(end === 'commit' ? ['one', 'other'] : ['other'])
      },
    )

    test('that does not end what it has begun fails the handler', async () => {
      const { lent, group, tx } = await openGroup()

      await tx.asNested().query('begin')

      expect(() => lent.requireClosed()).toThrow(
        expect.objectContaining({ code: 'TRANSACTION_CONTROL' }),
      )
      await group.abandon()
    })
  })
}
