import type { PoolClient } from 'pg'
import { describe, expect, test } from 'vitest'
import type { Store } from '../../../src/store/contract/store.ts'
import { Connection, rollBack } from '../../../src/store/postgres/connection.ts'
import { aSignal } from '../../support/a-signal.ts'
import { anEventDraft } from '../../support/builders.ts'
import { hasNoPostgres, openPostgres } from '../../support/postgres/open-postgres.ts'
import type { QueryTx } from '../../support/store-under-test.ts'
import { claim, done, recordOne } from '../../support/store-steps.ts'

/** Its text does not tell what it does, so that the session is looked at before it is sent. */
const UNKNOWN = `do $$ begin insert into effects values ('late'); end $$`

describe.skipIf(hasNoPostgres)(
  'a statement of a handler whose time runs out before it is sent',
  () => {
    test('is not sent where the session is looked at first, and does not commit by itself', async () => {
      const { query, group, hold } = await prepare({ events: 2 })
      const look = hold()
      const lent = group.lend()

      const late = lent.tx.query(UNKNOWN)
      const refused = expect(late).rejects.toMatchObject({ code: 'TX_REVOKED' })
      await look.answered
      lent.revokeNow()
      await group.abandon()
      look.handOn()

      await refused
      expect(await query('select * from effects')).toEqual([])
    })

    test('is not sent as one of ours where settings are put back first', async () => {
      const { query, group, hold, store } = await prepare({ events: 1 })
      const lent = group.lend()
      await lent.tx.query(`set local app.tenant = 'a'`)
      const restore = hold()

      const late = store.once.claim(lent.tx, aOnceDraft(), { mayWait: true })
      const refused = expect(late).rejects.toMatchObject({ code: 'TX_REVOKED' })
      await restore.answered
      lent.revokeNow()
      await group.abandon()
      restore.handOn()

      await refused
      expect(await query(`select * from hookonce.events where source = 'jobs'`)).toEqual([])
    })

    test('is refused by the connection itself, also while the transaction is being rolled back', async () => {
      const { query, pool } = await prepare({ events: 1 })
      const client = await pool.connect()
      const connection = new Connection(client, (text) => text, Infinity)
      await connection.run('begin')
      const gone = { code: 'STORE_UNAVAILABLE', message: 'The transaction was given up meanwhile' }

      const rolledBack = rollBack(connection)
      await expect(connection.passOn({ text: UNKNOWN })).rejects.toMatchObject(gone)
      await rolledBack
      await expect(connection.passOn({ text: UNKNOWN })).rejects.toMatchObject(gone)

      expect(await query('select * from effects')).toEqual([])
    })
  },
)

/** A claimed group on a connection that was used before, so that not all of its session was read at the start. */
async function prepare({ events }: { readonly events: number }) {
  const { store: opened, query, pool } = await openPostgres()
  const store = opened as unknown as Store<QueryTx>
  await query('create table effects (note text)')
  await recordOne(store, anEventDraft({ key: 'before' }))
  const before = await claim(store, { limit: 1 })
  await before.lend().revoke()
  await before.settle(before.events.map(done))
  await before.commit()
  for (let nth = 0; nth < events; nth += 1)
    await recordOne(store, anEventDraft({ key: `evt_${nth}` }))
  const group = await claim(store, { limit: 10 })
  return { store, query, pool, group, hold: () => holdNext(pool.lastGiven) }
}

/** Keeps the answer to what is sent next from the store until it is handed on. */
function holdNext(client: PoolClient): { readonly answered: Promise<void>; handOn(): void } {
  const [answered, handedOn] = [aSignal(), aSignal()]
  const own = client as unknown as { query(batch: Batch): unknown }
  own.query = (batch) => {
    delete (own as Partial<typeof own>).query
    const { callback } = batch
    batch.callback = (error) => {
      answered.give()
      void handedOn.given.then(() => callback(error))
    }
    return own.query(batch)
  }
  return { answered: answered.given, handOn: handedOn.give }
}

interface Batch {
  callback: (error: Error | null) => void
}

function aOnceDraft() {
  const { keyHash, fingerprint, body } = anEventDraft({ source: 'jobs', key: 'job_1' })
  const draft = { source: 'jobs', key: 'job_1', type: 'once', contentType: undefined }
  return { ...draft, keyHash, fingerprint, body }
}
