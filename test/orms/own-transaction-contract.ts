import { describe, expect, onTestFinished, test } from 'vitest'
import { createInbox, destination } from '../../src/index.ts'
import type { OwnTx } from '../../src/index.ts'
import { postgresStore } from '../../src/store/postgres/index.ts'
import { createPostgresDatabase, newPool } from '../support/postgres/open-postgres.ts'
import type { ConnectionConfig } from '../support/postgres/start-postgres.ts'

export interface OwnLibrary {
  readonly name: string
  /** A statement for the table of effects that the library wants. */
  readonly prepare?: string
  /** The library as a user has it, with connections of its own to the inbox's database. */
  open(config: ConnectionConfig): Promise<OwnDatabase>
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

/** What `inbox.once` and `outbox.send` do in the transaction of any library, on PostgreSQL. */
export function ownTransactionContract({ name, prepare, open }: OwnLibrary): void {
  async function openInbox() {
    const config = await createPostgresDatabase()
    const pool = newPool({ ...config, max: 4 })
    await pool.query('create table effects (event_key text, note text)')
    if (prepare !== undefined) await pool.query(prepare)
    const inbox = createInbox({
      store: postgresStore({ pool }),
      sources: {},
      worker: false,
      relay: false,
      destinations: [destination('mail', () => undefined)],
    })
    onTestFinished(() => inbox.stop())
    await inbox.start()
    const library = await open(config)
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
        effects: (await pool.query('select 1 from effects')).rowCount,
        messages: (await inbox.admin.listMessages({ state: 'ready' })).length,
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

    test('two at once have one effect', async () => {
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
