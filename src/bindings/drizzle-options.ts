/**
 * What Drizzle is told, the same for both engines.
 *
 * @module
 */

import type { Logger } from 'drizzle-orm'
import type * as ormModule from 'drizzle-orm'
import { rejectUnknownKeys } from '../options/reject-unknown-keys.ts'

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
