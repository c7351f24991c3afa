import type { ConnectionConfig } from '../../test/support/postgres/start-postgres.ts'

export type ReceiveConfig = {
  readonly postgres?: ConnectionConfig
  /** The file of the SQLite store. */
  readonly sqlite?: string
  readonly poolMax: number
}

/** A subject that also runs what it takes in. */
export type RunConfig = ReceiveConfig & {
  /** From which event on it keeps how long each took from stored to done. Without it, it keeps none. */
  readonly timedFrom?: number
  /** Removes what is older than is kept, beside everything else. */
  readonly prunes?: boolean
  /** Whether the handler waits for the answer to its statement. */
  readonly waits?: boolean
}
