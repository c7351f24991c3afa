import type { OwnTx } from './transaction.ts'

const behind = new WeakMap<object, object>()

/** An `OwnTx` on what a library has: however many are made of it, they are one transaction. */
export function ownTxOn(given: object, query: OwnTx['query']): OwnTx {
  const tx: OwnTx = { query }
  behind.set(tx, given)
  return tx
}

/** The object that stands for the transaction: the library's, or `tx` itself. */
export function transactionBehind(tx: object): object {
  return behind.get(tx) ?? tx
}
