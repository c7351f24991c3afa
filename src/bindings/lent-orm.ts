import type { Engine } from '../store/contract/tx-binding.ts'
import type { PostgresTx } from '../store/postgres/tx.ts'
import type { SqliteTx } from '../store/sqlite/tx.ts'

/** What an instance of MikroORM is for, and how to make a manager of it on a transaction. */
export interface LentOrm {
  readonly engine: Engine
  readonly lend: (sql: PostgresTx | SqliteTx) => object
}
