import { describe, expect, onTestFinished, test } from 'vitest'
import { createInbox, destination } from '../../src/index.ts'
import type { OwnTx } from '../../src/index.ts'
import type { Store } from '../../src/store/contract/store.ts'
import type { Engine } from '../../src/store/contract/tx-binding.ts'
import { postgresStore } from '../../src/store/postgres/index.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import { createPostgresDatabase, newPool } from '../support/postgres/open-postgres.ts'
import type { ConnectionConfig } from '../support/postgres/start-postgres.ts'
import { createSqlite } from '../support/sqlite-database.ts'

export interface OwnLibrary {
  readonly name: string
  /** A statement for the table of effects that the library wants. */
  readonly prepare?: string
  /** The library as a user has it, with connections of its own to the inbox's database. */
  open(config: ConnectionConfig): Promise<OwnDatabase>
}

export interface OwnSqliteLibrary {
  readonly name: string
  open(file: string): Promise<OwnDatabase>
}

export interface OwnDatabase {
  /** Runs `work` in a transaction of the library's, with what its `from…` function makes of that. */
  transact<Result>(
    work: (tx: OwnTx, insert: (key: string) => PromiseLike<unknown>) => Promise<Result>,
  ): Promise<Result>
  /** Hands over what is no transaction: the pool, the client, the instance itself. */
  mistake(): OwnTx
}

const JOB = { source: 'jobs', key: `job-'"\\1 €` }

const CREATE_EFFECTS = 'create table effects (event_key text, note text)'

/** A fresh database, with the library on it. */
interface Scene {
  readonly store: Store<unknown>
  readonly library: OwnDatabase
  query(text: string): Promise<readonly unknown[]>
}

export function ownTransactionContract({ name, prepare, open }: OwnLibrary): void {
  contract(name, 'postgres', async () => {
    const config = await createPostgresDatabase()
    const pool = newPool({ ...config, max: 4 })
    const query = async (text: string) => (await pool.query<object>(text)).rows
    await query(CREATE_EFFECTS)
    if (prepare !== undefined) await query(prepare)
    return { store: postgresStore({ pool }), library: await open(config), query }
  })
}

export function ownSqliteTransactionContract({ name, open }: OwnSqliteLibrary): void {
  contract(name, 'sqlite', async () => {
    const { file, query, close } = await createSqlite({ driver: 'libsql' })
    onTestFinished(close)
    await query(CREATE_EFFECTS)
    const library = await open(file)
    return { store: sqliteStore(file, { driver: 'libsql' }), library, query }
  })
}

/** What `inbox.once` and `outbox.send` do in the transaction of any library. */
function contract(name: string, engine: Engine, openScene: () => Promise<Scene>): void {
  async function openInbox() {
    const { store, library, query } = await openScene()
    const inbox = createInbox({
      store,
      sources: {},
      worker: false,
      relay: false,
      destinations: [destination('mail', () => undefined)],
    })
    onTestFinished(() => inbox.stop())
    await inbox.start()
    /** One job: an effect and a message, under one key. */
    const runJob = () =>
      library.transact((tx, insert) =>
        inbox.once(tx, { ...JOB, payload: { order: 7 } }, async () => {
          await insert(JOB.key)
          await inbox.outbox.send(tx, 'mail', { order: 7 })
          return { paid: [1, null, 'ä'] }
        }),
      )
    return {
      ...library,
      inbox,
      runJob,
      /** What is committed. */
      count: async () => ({
        effects: (await query('select 1 from effects')).length,
        messages: (await inbox.admin.listMessages({ state: 'ready' })).messages.length,
        events: await inbox.admin.countEvents(),
      }),
    }
  }

  describe(name, () => {
    test('runs the work of a key once, and gives a duplicate its result', async () => {
      const { runJob, count } = await openInbox()

      const first = await runJob()
      const again = await runJob()

      expect(first).toMatchObject({ status: 'first', result: { paid: [1, null, 'ä'] } })
      expect(again).toMatchObject({
        status: 'duplicate',
        isDone: true,
        result: { paid: [1, null, 'ä'] },
      })
      expect(await count()).toEqual({ effects: 1, messages: 1, events: 1 })
    })

    test('a transaction that is rolled back takes effect, message and key with it', async () => {
      const { transact, inbox, runJob, count } = await openInbox()
      const failing = transact(async (tx, insert) => {
        await inbox.once(tx, { ...JOB, payload: { order: 7 } }, async () => {
          await insert(JOB.key)
          await inbox.outbox.send(tx, 'mail', { order: 7 })
        })
        throw new Error('no luck')
      })

      await expect(failing).rejects.toThrow('no luck')

      expect(await count()).toEqual({ effects: 0, messages: 0, events: 0 })
      expect(await runJob()).toMatchObject({ status: 'first' })
      expect(await count()).toEqual({ effects: 1, messages: 1, events: 1 })
    })

    test('work that throws is undone alone, and its transaction can go on', async () => {
      const { transact, inbox, count } = await openInbox()

      await transact(async (tx, insert) => {
        const failed = inbox.once(tx, JOB, async () => {
          await insert('undone')
          await inbox.outbox.send(tx, 'mail', 'undone')
          throw new Error('no luck')
        })
        await expect(failed).rejects.toThrow('no luck')
        await insert('kept')
      })

      expect(await count()).toEqual({ effects: 1, messages: 0, events: 0 })
    })

    // With SQLite the second would wait for the first in SQLite itself, and hold up the event loop that the first needs.
    test.skipIf(engine === 'sqlite')('two at once have one effect', async () => {
      const { runJob, count } = await openInbox()

      const ran = await Promise.all([runJob(), runJob()])

      expect(ran.map(({ status }) => status).toSorted()).toEqual(['duplicate', 'first'])
      expect(await count()).toEqual({ effects: 1, messages: 1, events: 1 })
    })

    test('what is no transaction is refused by name, and nothing is written', async () => {
      const { mistake, inbox, count } = await openInbox()
      const pass = async (use: (tx: OwnTx) => Promise<unknown>) => use(mistake())

      await expect(pass((tx) => inbox.once(tx, JOB, async () => 1))).rejects.toMatchObject({
        code: 'TRANSACTION_EXPECTED',
      })
      await expect(pass((tx) => inbox.outbox.send(tx, 'mail', 1))).rejects.toMatchObject({
        code: 'TRANSACTION_EXPECTED',
      })
      expect(await count()).toEqual({ effects: 0, messages: 0, events: 0 })
    })
  })
}
