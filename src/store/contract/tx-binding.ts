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
  /**
   * Calls a handler, or a `step.tx`, that was lent this transaction, and gives what it returned. For a library that has
   * something to do around it: to write what it has kept back, or to be found by code that is not handed `tx`. Left
   * out, it is just called. What this rejects with fails the handler.
   */
  run?<Result>(sql: Sql, work: () => Promise<Result>): Promise<Result>
}

/** Calls `work` as the binding wants it called. */
export async function runBound<Sql, Result>(
  binding: TxBinding<Sql, unknown> | undefined,
  sql: Sql,
  work: () => Result | Promise<Result>,
): Promise<Result> {
  if (binding?.run === undefined) return work()
  return binding.run(sql, async () => work())
}

/** @throws OptionInvalidError */
export function requireTxBinding(option: string, engine: Engine, binding: unknown): void {
  if (binding === undefined) return
  if (typeof binding !== 'object' || binding === null || !('bind' in binding)) {
    throw new OptionInvalidError(option, 'a binding, such as drizzleTx({ schema })', binding)
  }
  const { bind, run, engine: own } = binding as Readonly<Record<string, unknown>>
  if (typeof bind !== 'function') throw new OptionInvalidError(`${option}.bind`, 'a function', bind)
  if (run !== undefined && typeof run !== 'function')
    throw new OptionInvalidError(`${option}.run`, 'a function', run)
  if (own === undefined || own === engine) return
  throw new OptionInvalidError(option, `a binding for ${engine}`, own)
}
