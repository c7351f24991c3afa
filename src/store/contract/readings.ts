/**
 * What a store must do for code that reads what handlers have written, beside the work.
 *
 * @module
 */

import type { LentTx } from './transaction.ts'

/** The part of a store that lends transactions in which nothing can be written. */
export interface ReadingStore<Tx> {
  /** Opens one. It sees what was committed before, and holds no lock that a worker or a sender waits for. */
  open(limits: ReadingLimits): Promise<Reading<Tx>>
}

export interface ReadingLimits {
  /** How long a statement may take, where the engine can end one. */
  readonly statementTimeoutMs: number
  /** How long it may sit idle before it is ended, so that code that hangs keeps no snapshot for ever. */
  readonly idleTimeoutMs: number
}

/** A transaction in which nothing can be written. */
export interface Reading<Tx> {
  /** Lends it to one run of the user's code. */
  lend(): LentTx<Tx>
  /** `open`: it can be lent again. Anything else: it cannot, and is to be closed. */
  status(): 'open' | 'failed' | 'ended' | 'lost'
  /** Rolls back and returns the connection; never throws. */
  close(): Promise<void>
}
