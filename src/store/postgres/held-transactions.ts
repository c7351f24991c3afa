import type { Connection } from './connection.ts'
import type { Connections } from './connections.ts'
import { HeldTransaction } from './held-transaction.ts'
import type { HeldTransactionParts } from './held-transaction.ts'
import { SessionWatcher } from './session-watch.ts'

/** A statement of ours inside a handler's transaction, COMMIT included. */
const STATEMENT_TIMEOUT_MS = 30_000

/** The transactions of a store that are lent to handlers now. */
export class HeldTransactions {
  /** What they leave behind. */
  readonly watcher = new SessionWatcher()
  readonly #connections: Connections
  readonly #held = new Set<HeldTransaction>()

  constructor(connections: Connections) {
    this.#connections = connections
  }

  /** A connection to begin one on. */
  async checkOut(): Promise<Connection> {
    const connection = await this.#connections.checkOut()
    connection.limitEachTo(STATEMENT_TIMEOUT_MS)
    return connection
  }

  /** `pid`: of the backend that has begun it. */
  hold(
    opened: Omit<HeldTransactionParts, 'cancel' | 'onEnd'> & { readonly pid: number },
  ): HeldTransaction {
    const transaction = new HeldTransaction({
      ...opened,
      cancel: () => this.#cancel(opened.pid),
      onEnd: (ended) => this.#held.delete(ended),
    })
    this.#held.add(transaction)
    return transaction
  }

  async abandonAll(): Promise<void> {
    await Promise.all([...this.#held].map((transaction) => transaction.abandon()))
  }

  async #cancel(pid: number): Promise<void> {
    await this.#connections.useControl(async (connection) =>
      connection.query('select pg_cancel_backend($1)', [pid]),
    )
  }
}
