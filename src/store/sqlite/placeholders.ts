/**
 * `$1` as SQLite's bindings take it.
 *
 * To SQLite `$1` is a parameter whose name happens to be a digit, numbered by where it first stands:
 * bound from a list, `select $2, $1` gets the two the wrong way round (measured). `?1` means the
 * first of the list wherever it stands.
 *
 * Only SQLite: `$1` is what PostgreSQL itself calls a parameter.
 *
 * @module
 */

import { splitTokens } from '../shared/transaction-control.ts'

export function numberPlaceholders(sql: string): string {
  if (!sql.includes('$')) return sql
  return splitTokens(sql, 'sqlite')
    .map((token) => (/^\$\d+$/.test(token) ? `?${token.slice(1)}` : token))
    .join('')
}
