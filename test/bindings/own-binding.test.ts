import { describe, expect, expectTypeOf, test } from 'vitest'
import type { OwnTx } from '../../src/store/contract/transaction.ts'
import type { TxBinding } from '../../src/store/contract/tx-binding.ts'
import { postgresStore } from '../../src/store/postgres/index.ts'
import type { PostgresTx } from '../../src/store/postgres/index.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import type { SqliteTx } from '../../src/store/sqlite/index.ts'
import type { WorkerOptions } from '../../src/work/options.ts'
import { hasNoPostgres } from '../support/postgres/open-postgres.ts'
import { bindingContract } from './binding-contract.ts'
import { codeBehind, openBoundPostgres, openBoundSqlite } from './bound-inbox.ts'
import type { BoundInbox } from './bound-inbox.ts'

type Sql = Pick<SqliteTx, 'query' | 'savepoint'> | Pick<PostgresTx, 'query' | 'savepoint'>

/** A library of one function, with transactions. */
class Library {
  readonly #sql: Sql

  constructor(sql: Sql) {
    this.#sql = sql
  }

  async run(text: string, values: readonly unknown[] = []): Promise<void> {
    await this.#sql.query(text, values)
  }

  asOwn(): OwnTx {
    return this.#sql
  }

  async nest(work: (inner: Library) => Promise<void>): Promise<void> {
    await (this.#sql.savepoint as (work: () => unknown) => Promise<unknown>)(() => work(this))
  }
}

const library: TxBinding<PostgresTx | SqliteTx, Library> = { bind: (sql) => new Library(sql) }

interface Engine<Lent> {
  readonly name: 'postgres' | 'sqlite'
  open<Tx>(
    tx: TxBinding<PostgresTx | SqliteTx, Tx>,
    worker?: WorkerOptions,
  ): Promise<BoundInbox<Tx, Lent>>
}

function ownBindingContract<Lent extends PostgresTx | SqliteTx>({ name, open }: Engine<Lent>) {
  bindingContract({
    name: `A library of one's own on ${name}`,
    open: (worker) => open(library, worker) as Promise<BoundInbox<Library, Lent & SqliteTx>>,
    insert: (tx, key, note) => tx.run('insert into effects values ($1, $2)', [key, note]),
    nest: (tx, work) => tx.nest(work),
    run: (tx, sql) => tx.run(sql),
    asOwn: (tx) => tx.asOwn(),
  })

  describe(`${name}: a binding`, () => {
    test('is loaded before a handler runs, and bound when its tx is first asked for', async () => {
      const calls: string[] = []
      const { inbox, deliver, untilAll } = await open({
        load: async (engine) => void calls.push(`load ${engine}`),
        bind: (sql, engine) => {
          calls.push(`bind ${engine}`)
          return { query: (text: string) => (sql as SqliteTx).query(text) }
        },
      })
      inbox.on('pings', '*', async ({ key }, context) => {
        calls.push(key)
        await context.sql.query('select 1')
        if (key === 'plain') return
        expect(context.tx).toBe(context.tx)
        await context.tx.query('select 1')
      })
      await inbox.start()

      for (const key of ['plain', 'bound']) {
        const done = untilAll('event.done', 1)
        await deliver(key)
        await done
      }

      expect(calls).toEqual([`load ${name}`, 'plain', 'bound', `bind ${name}`])
    })

    test('that cannot be loaded keeps the inbox from starting, and is tried again', async () => {
      let attempts = 0
      const { inbox } = await open({
        load: async () => {
          attempts += 1
          if (attempts === 1) throw new Error('not installed')
        },
        bind: (sql) => sql,
      })

      await expect(inbox.start()).rejects.toThrow('not installed')
      await inbox.start()

      expect(attempts).toBe(2)
    })

    test('that throws fails the attempt, and nothing else', async () => {
      const { inbox, deliver, untilAll } = await open({
        bind: () => {
          throw new Error('cannot bind')
        },
      })
      inbox.on('pings', '*', { retry: { attemptsMax: 1 } }, async (_event, { tx }) => tx)
      const dead = untilAll('event.dead', 1)
      await inbox.start()
      const { eventId } = (await deliver('evt_1')) as { eventId: string }
      await dead

      expect((await inbox.admin.findEvent(eventId))?.reason).toContain('cannot bind')
    })

    test('is not in the way of what a handler sends', async () => {
      const { inbox, deliver, untilAll } = await open(library)
      inbox.on('pings', '*', async ({ key }, { tx, send }) => {
        await tx.run('insert into effects values ($1, $2)', [key, 'written'])
        await send('out', key)
      })
      inbox.steps('pings', 'none', () => undefined)
      const sent = untilAll('message.sent', 1)
      await inbox.start()
      await deliver('evt_1')

      expect(await sent).toHaveLength(1)
    })

    test('gives nothing to a handler that has no transaction', async () => {
      const { inbox, deliver, untilAll } = await open(library)
      const codes: unknown[] = []
      inbox.on('pings', '*', { guarantee: 'at-least-once' }, (_event, context) => {
        expectTypeOf<typeof context.tx>().toEqualTypeOf<never>()
        expectTypeOf<typeof context.sql>().toEqualTypeOf<never>()
        for (const member of ['tx', 'sql'] as const) {
          try {
            codes.push(context[member])
          } catch (error) {
            codes.push(codeBehind(error))
          }
        }
      })
      const done = untilAll('event.done', 1)
      await inbox.start()
      await deliver('evt_1')
      await done

      expect(codes).toEqual(['TRANSACTION_EXPECTED', 'TRANSACTION_EXPECTED'])
    })
  })
}

describe.skipIf(hasNoPostgres)('PostgreSQL', () => {
  ownBindingContract<PostgresTx>({ name: 'postgres', open: openBoundPostgres })
})

ownBindingContract<SqliteTx>({ name: 'sqlite', open: openBoundSqlite })

describe('the option tx', () => {
  const pool = { query: () => undefined, connect: () => undefined }

  test.each([
    ['no object', 'drizzle', 'must be a binding'],
    ['an object without bind', {}, 'must be a binding'],
    ['a bind that is no function', { bind: 1 }, 'tx.bind must be a function'],
  ])('refuses %s', (_name, tx, message) => {
    expect(() => sqliteStore('never-opened.db', { tx } as object)).toThrow(message)
    expect(() => postgresStore({ pool, tx } as never)).toThrow(message)
  })

  test('refuses a binding for the other engine', () => {
    const bind = (sql: unknown) => sql
    expect(() => sqliteStore('never-opened.db', { tx: { engine: 'postgres', bind } })).toThrow(
      'sqliteStore.tx must be a binding for sqlite',
    )
    expect(() => postgresStore({ pool, tx: { engine: 'sqlite', bind } } as never)).toThrow(
      'postgresStore.tx must be a binding for postgres',
    )
  })

  test('left out, tx and sql are the same', async () => {
    const { inbox, deliver, untilAll } = await openBoundSqlite<SqliteTx>({ bind: (sql) => sql })
    const same: boolean[] = []
    inbox.on('pings', '*', (_event, { tx, sql }) => void same.push(tx === sql))
    const done = untilAll('event.done', 1)
    await inbox.start()
    await deliver('evt_1')
    await done

    expect(same).toEqual([true])
  })
})
