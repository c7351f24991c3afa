import type { ConnectionConfig } from '../../test/support/postgres/start-postgres.ts'

export type ReceiveConfig = {
  readonly postgres?: ConnectionConfig
  /** The file of the SQLite store. */
  readonly sqlite?: string
  readonly poolMax: number
}
