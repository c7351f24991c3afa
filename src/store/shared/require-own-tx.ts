import { HookonceError } from '../../errors.ts'
import type { OwnTx } from '../contract/transaction.ts'

/**
 * What the user took for a transaction, known by its shape before a statement is sent. Whether a transaction is open
 * in it only the database can tell.
 *
 * @throws HookonceError with the code TRANSACTION_EXPECTED
 */
export function requireOwnTx(tx: unknown): OwnTx {
  if ((typeof tx !== 'object' && typeof tx !== 'function') || tx === null)
    throw transactionExpected('this is none; pass the transaction that you have opened')
  for (const [isIt, advice] of LIBRARIES) if (isIt(tx)) throw transactionExpected(advice)
  if ('query' in tx && typeof tx.query === 'function') return tx as OwnTx
  throw transactionExpected(
    'this has no query(text, values); pass a client of pg, or what a function such as fromDrizzle(tx) returns',
  )
}

export function transactionExpected(why: string, cause?: unknown): HookonceError {
  return new HookonceError('TRANSACTION_EXPECTED', `A transaction was expected: ${why}`, { cause })
}

const has = (tx: object, name: string): boolean =>
  name in tx && typeof (tx as Record<string, unknown>)[name] === 'function'

/** What a library's object is known by, and what to do with it. */
const LIBRARIES: readonly (readonly [(tx: object) => boolean, string])[] = [
  [
    (tx) => has(tx, 'connect') && 'totalCount' in tx,
    'a pool runs every statement on whichever connection is free; take a client with pool.connect(), send BEGIN, and pass the client',
  ],
  [(tx) => has(tx, '$queryRawUnsafe'), 'this is of Prisma; pass fromPrisma(tx)'],
  [(tx) => has(tx, 'executeQuery'), 'this is of Kysely; pass fromKysely(trx)'],
  [(tx) => has(tx, 'queryBuilder') && has(tx, 'raw'), 'this is of Knex; pass fromKnex(trx)'],
  [(tx) => has(tx, 'getConnection'), 'this is of MikroORM; pass fromMikroOrm(em)'],
  [(tx) => has(tx, 'unsafe'), 'this is of postgres.js; pass fromPostgresJs(sql)'],
  [
    (tx) => 'queryRunner' in tx || has(tx, 'createQueryRunner'),
    'this is of TypeORM; pass fromTypeorm(manager)',
  ],
  [
    (tx) => '_' in tx && (has(tx, 'execute') || has(tx, 'run')),
    'this is of Drizzle; pass fromDrizzle(tx)',
  ],
]
