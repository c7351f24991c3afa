import { OptionInvalidError } from '../errors.ts'
import { rejectUnknownKeys } from '../options/reject-unknown-keys.ts'
import type { Store } from '../store/contract/store.ts'
import { takeStore } from '../store/contract/take-store.ts'
import { bindOperator } from './bind-operator.ts'
import { BulkRunner } from './bulk-runner.ts'
import type { Operator } from './operator.ts'

/** What an operator without an inbox is made of. */
export interface CreateOperatorOptions {
  /** Where the events are kept: `sqliteStore(file)` or `postgresStore({ pool })`. One of its own, which it closes. */
  readonly store: Store<unknown>
}

/** An operator without an inbox. */
export interface StandaloneOperator extends Operator {
  /** Closes the store. The user's own pool stays open. */
  close(): Promise<void>
  /** `await using` closes it at the end of its block. */
  [Symbol.asyncDispose](): Promise<void>
}

/**
 * Makes an operator on a store alone, for a script, a console or a dashboard: it has no sources and no handlers,
 * receives nothing and runs nothing. Nothing is opened before the first action.
 *
 * @throws OptionInvalidError for an option that is unknown or cannot be used
 */
export function createOperator(options: CreateOperatorOptions): StandaloneOperator {
  rejectUnknownKeys('createOperator', options, ['store'])
  const { store } = options
  if (typeof store?.events?.record !== 'function') {
    throw new OptionInvalidError(
      'createOperator.store',
      'a store: sqliteStore(file) or postgresStore({ pool })',
      store,
    )
  }
  takeStore('createOperator', store)
  let opening: Promise<void> | undefined
  // Workers and relays of other processes find it by their next poll, should this not reach them.
  const notify = (): void => void store.queue.notify().catch(() => undefined)
  const bulkRunner = new BulkRunner()
  const close = async (): Promise<void> => {
    await bulkRunner.stop()
    await store.close()
  }
  const operator = bindOperator({
    store,
    open: () =>
      (opening ??= store.open().catch((error: unknown) => {
        // A failed opening is tried again by the next call.
        opening = undefined
        throw error
      })),
    onForgotten: () => undefined,
    onDue: notify,
    onSendable: notify,
    onPausesChanged: notify,
    // There is no inbox that would tell it. The audit has it all the same.
    onActed: () => undefined,
    bulkRunner,
  })
  return { ...operator, close, [Symbol.asyncDispose]: close }
}
