/**
 * One call of `inbox.once` at a time in a transaction, but for those within the work of another.
 *
 * Savepoints are a stack. Of two calls side by side the one that throws would go back to a savepoint that the other
 * has set before its claim, or take along what the other has answered `first` for: its work would be lost. Which call
 * is within which only the asynchronous context can tell, since both are handed the same transaction.
 *
 * A call that is refused sends nothing, and hears of it when what is under way has ended: of `Promise.all` the error
 * is what a library rolls back for, and gives its connection back, on which the other call would go on.
 *
 * @module
 */

import { AsyncLocalStorage } from 'node:async_hooks'
import { HookonceError } from '../errors.ts'
import { transactionBehind } from '../store/contract/transaction-behind.ts'

interface Call {
  /** The one in whose work it was made, in whichever transaction. */
  readonly within: Call | undefined
  /** Whether its work is running, in which others may be made. */
  isInWork: boolean
  readonly ended: Promise<void>
}

/** Runs the work of a call. */
type InWork = <Result>(work: () => Result | Promise<Result>) => Promise<Result>

/** By their transaction, of those that have not ended the one that was made last. */
const innermost = new WeakMap<object, Call>()
const around = new AsyncLocalStorage<Call>()

/** @throws HookonceError with the code TRANSACTION_CONTROL where another call is under way */
export async function inTurn<Result>(
  tx: unknown,
  run: (inWork: InWork) => Promise<Result>,
): Promise<Result> {
  // What is no transaction is refused by the store.
  if ((typeof tx !== 'object' && typeof tx !== 'function') || tx === null)
    return run(async (work) => work())
  const transaction = transactionBehind(tx)
  const within = around.getStore()
  const open = innermost.get(transaction)
  const mayBegin = open === undefined || (open.isInWork && isWithin(within, open))
  if (!mayBegin) return refuse(open)

  let end: () => void = () => undefined
  const ended = new Promise<void>((resolve) => (end = resolve))
  const call: Call = { within, isInWork: false, ended }
  innermost.set(transaction, call)
  try {
    return await run(async (work) => {
      call.isInWork = true
      try {
        return await around.run(call, work)
      } finally {
        // One that the work did not wait for would go on after the savepoint around it has gone.
        await untilInnermost(transaction, call)
        call.isInWork = false
      }
    })
  } finally {
    if (open === undefined) innermost.delete(transaction)
    else innermost.set(transaction, open)
    end()
  }
}

async function untilInnermost(transaction: object, call: Call): Promise<void> {
  const last = innermost.get(transaction)
  if (last === undefined || last === call) return
  await last.ended
  return untilInnermost(transaction, call)
}

/** The caller hears of it late: see above. */
async function refuse(open: Call): Promise<never> {
  // While the work runs it may be what waits for this call, from a callback that has lost its context.
  if (!open.isInWork) await open.ended
  throw new HookonceError(
    'TRANSACTION_CONTROL',
    'Another call of inbox.once is under way in this transaction. Wait for its end before the next is begun',
  )
}

function isWithin(call: Call | undefined, other: Call): boolean {
  for (let each = call; each !== undefined; each = each.within) if (each === other) return true
  return false
}
