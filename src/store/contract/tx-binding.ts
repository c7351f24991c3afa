/**
 * How a library of the user's is put on a lent transaction, so that a handler's `tx` is the library's own object.
 *
 * The library speaks through the transaction that was lent, and through nothing else: what guards that one guards
 * the library as well.
 *
 * @module
 */

import { OptionInvalidError } from '../../errors.ts'

/** What is behind a store. */
export type Engine = 'postgres' | 'sqlite'

/**
 * Puts a library on the transaction of a handler: `drizzleTx({ schema })`, `prismaTx(PrismaClient)`, `kyselyTx()`, or
 * one of your own. `Sql` is the transaction that the store lends, `Tx` what the handler gets as `tx` instead.
 */
export interface TxBinding<in Sql, out Tx> {
  /** The one engine that it is for. Left out, it is for any. */
  readonly engine?: Engine
  /** Loads what it needs. Called when the store is opened, and again if that failed. */
  load?(engine: Engine): Promise<void>
  /**
   * The library's object on this transaction. Called when a handler first asks for its `tx`. What it returns must
   * send every statement through `sql`, and is of no use once the handler has ended: then `sql` refuses all of them.
   */
  bind(sql: Sql, engine: Engine): Tx
}

/** @throws OptionInvalidError */
export function requireTxBinding(option: string, engine: Engine, binding: unknown): void {
  if (binding === undefined) return
  if (typeof binding !== 'object' || binding === null || !('bind' in binding)) {
    throw new OptionInvalidError(option, 'a binding, such as drizzleTx({ schema })', binding)
  }
  const { bind, engine: own } = binding as { readonly bind: unknown; readonly engine?: unknown }
  if (typeof bind !== 'function') throw new OptionInvalidError(`${option}.bind`, 'a function', bind)
  if (own === undefined || own === engine) return
  throw new OptionInvalidError(option, `a binding for ${engine}`, own)
}
