/**
 * Transactions of Sequelize's on a lent one: the handler's own, which cannot be ended, and those in it, which are
 * savepoints.
 *
 * Sequelize never releases a savepoint, which looks like an await that is missing. So one that is opened in another is
 * begun and ended, at every depth. Sequelize makes it itself and tells the one around it by `savepoints.push`.
 *
 * @module
 */

import { HookonceError } from '../errors.ts'

/** What Sequelize takes for a connection of its driver, and is the lent transaction. */
export interface LentConnection {
  query(text: string): Promise<unknown>
  uuid?: string
}

/** A `Transaction` of Sequelize's, as far as it is used here. */
export interface SequelizeTransaction {
  readonly id: string
  readonly options: object
  connection: LentConnection
  savepoints: SequelizeTransaction[]
  finished?: 'commit' | 'rollback'
}

export type TransactionClass = new (sequelize: object, options: object) => SequelizeTransaction

/** A transaction of the library's on each lent one, which `connect` gives a connection of it. */
export function lendTransactions(
  sequelize: object,
  Transaction: TransactionClass,
): (connect: () => LentConnection) => SequelizeTransaction {
  const connects = new WeakMap<LentConnection, () => LentConnection>()

  class LentTransaction extends Transaction {
    /** Both are refused there, by the name of what is wrong. */
    async commit(): Promise<void> {
      await this.connection.query('commit')
    }

    async rollback(): Promise<void> {
      await this.connection.query('rollback')
    }

    afterCommit(): never {
      throw refuseAfterCommit()
    }
  }

  class NestedTransaction extends Transaction {
    /** On a connection of its own, which is another speaker to the lent transaction. */
    async begin(): Promise<void> {
      if (isOfFindOrCreate(this)) return
      const connect = connects.get(this.connection)
      if (connect !== undefined) this.connection = open(this, connect)
      await this.connection.query('begin')
    }

    async commit(): Promise<void> {
      await end(this, 'commit')
    }

    async rollback(): Promise<void> {
      await end(this, 'rollback')
    }

    afterCommit(): never {
      throw refuseAfterCommit()
    }
  }

  class Nested extends Array<SequelizeTransaction> {
    override push(...made: SequelizeTransaction[]): number {
      for (const transaction of made) {
        Object.setPrototypeOf(transaction, NestedTransaction.prototype)
        transaction.savepoints = new Nested()
      }
      return super.push(...made)
    }
  }

  function open({ id }: SequelizeTransaction, connect: () => LentConnection): LentConnection {
    const connection = Object.assign(connect(), { uuid: id })
    connects.set(connection, connect)
    return connection
  }

  return (connect) => {
    const transaction = new LentTransaction(sequelize, {})
    transaction.connection = open(transaction, connect)
    transaction.savepoints = new Nested()
    return transaction
  }
}

/** No private method: Sequelize has made it, as one of its own class. */
async function end(transaction: SequelizeTransaction, how: 'commit' | 'rollback'): Promise<void> {
  const { finished } = transaction
  if (finished !== undefined) throw new Error(`The transaction has ended before, by ${finished}`)
  transaction.finished = how
  await transaction.connection.query(how)
}

/**
 * `findOrCreate` opens one with all of its own options, and leaves it open. It needs none: what fails in it is caught in
 * the database.
 */
function isOfFindOrCreate({ options }: SequelizeTransaction): boolean {
  return 'where' in options
}

function refuseAfterCommit(): HookonceError {
  return new HookonceError(
    'TRANSACTION_CONTROL',
    "A handler's transaction is ended by hookonce, also for other events: afterCommit would run for what may be undone. Use ctx.send, which leaves after COMMIT",
  )
}
