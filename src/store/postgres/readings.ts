import type { Reading, ReadingStore } from '../contract/readings.ts'
import { rollBack } from './connection.ts'
import type { HeldTransactions } from './held-transactions.ts'
import { asStoreError } from './store-error.ts'
import type { PostgresTx } from './tx.ts'

// Nothing can be written from here on, and PostgreSQL lets no statement take that back.
const MAKE_READ_ONLY = {
  text: `
  select pg_catalog.pg_backend_pid() as pid, pg_catalog.set_config('transaction_read_only', 'on', true)`,
}

/** The part of the store that lends transactions in which nothing can be written. */
export function createReadings(held: HeldTransactions): ReadingStore<PostgresTx> {
  return {
    open: async (limits): Promise<Reading<PostgresTx>> => {
      const connection = await held.checkOut()
      try {
        const settings = { lockTimeoutMs: 0, ...limits }
        const { watch, opened } = await held.watcher.begin(connection, settings, MAKE_READ_ONLY)
        const pid = Number(opened?.rows[0]?.['pid'])
        // It is never committed, so that its name is not asked for.
        const transaction = held.hold({ connection, pid, xid: '', watch, isAlone: true })
        return {
          lend: () => transaction.lend(),
          status: () => transaction.status(),
          close: () => transaction.abandon(),
        }
      } catch (error) {
        await rollBack(connection)
        throw asStoreError(error)
      }
    },
  }
}
