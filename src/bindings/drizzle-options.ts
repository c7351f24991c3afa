/**
 * What Drizzle is told, the same for both engines.
 *
 * @module
 */

import type { Logger } from 'drizzle-orm'
import type * as ormModule from 'drizzle-orm'
import { rejectUnknownKeys } from '../options/reject-unknown-keys.ts'
import { refuseConnections } from './refuse-connections.ts'

/** As for Drizzle's own `drizzle()`. */
export interface DrizzleTxOptions<Schema extends Record<string, unknown>> {
  /** Your tables and relations, for `tx.query`. Left out, `tx.query` has no tables. */
  readonly schema?: Schema
  /** How names of columns are made from keys. Left out, they are the same. */
  readonly casing?: 'snake_case' | 'camelCase'
  /**
   * Gets every statement with its values; `true` prints them.
   *
   * @defaultValue false
   */
  readonly logger?: boolean | Logger
}

/** @throws OptionInvalidError for an option that is unknown */
export function requireDrizzleOptions(options: DrizzleTxOptions<Record<string, unknown>>): void {
  refuseConnections('drizzleTx', options, 'its schema: drizzleTx({ schema })')
  rejectUnknownKeys('drizzleTx', options, ['schema', 'casing', 'logger'])
}

/** As Drizzle's own `drizzle()` makes them of its options. */
export function resolveForDrizzle(
  orm: typeof ormModule,
  { schema, casing, logger }: DrizzleTxOptions<Record<string, unknown>>,
) {
  const log = logger === true ? new orm.DefaultLogger() : logger === false ? undefined : logger
  return {
    dialectOptions: casing === undefined ? {} : { casing },
    sessionOptions: log === undefined ? {} : { logger: log },
    relational: schema === undefined ? undefined : readSchema(orm, schema),
  }
}

function readSchema(orm: typeof ormModule, fullSchema: Record<string, unknown>) {
  const { tables, tableNamesMap } = orm.extractTablesRelationalConfig(
    fullSchema,
    orm.createTableRelationsHelpers,
  )
  return { fullSchema, schema: tables, tableNamesMap }
}

/** A transaction of Drizzle's, or a session. */
export interface Nesting {
  transaction(work: (tx: Nesting) => Promise<unknown>, config?: unknown): Promise<unknown>
}

/**
 * Each transaction in it gets a session of its own, which is another speaker to the lent transaction. Drizzle's own
 * transaction in a transaction leaves its savepoint open when it is rolled back, which looks like an await that is
 * missing; one of a session is ended either way.
 */
export function nestTransactions(tx: Nesting, connect: () => Nesting): void {
  tx.transaction = (work, config) =>
    connect().transaction((inner) => {
      nestTransactions(inner, connect)
      return work(inner)
    }, config)
}
