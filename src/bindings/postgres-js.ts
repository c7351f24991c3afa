/**
 * `hookonce/postgres-js`: a handler's `tx` is that of postgres.js' `sql.begin`, on PostgreSQL.
 *
 * postgres.js must own its connection. It takes a socket, though, and gets one with the lent transaction behind it
 * (`lent-socket.ts`), so that it speaks through that one and through nothing else
 * (`docs/decisions/2026-11-postgres-js-gets-a-socket.md`).
 *
 * @module
 */

import { HookonceError, OptionInvalidError, StoreUnavailableError } from '../errors.ts'
import type { TxBinding } from '../store/contract/tx-binding.ts'
import type { PostgresTx } from '../store/postgres/tx.ts'
import { refuseConnections } from './refuse-connections.ts'
import { KnownStatements, LentSocket } from './lent-socket.ts'

/** What `sql.begin` gives to its function, and `begin`, which is a savepoint. */
export type PostgresJsTx<Sql> = Sql extends {
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- whatever it returns
  begin(options: string, work: (sql: infer Tx) => any): any
}
  ? Pick<Sql, 'begin'> & Tx
  : never

/** The function that `postgres` exports, as far as it is used. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any -- its overloads are of its own making
export type PostgresJs = ((...given: any[]) => unknown) & { readonly PostgresError: unknown }

/** What `postgres(url)` gives, as far as it is used. */
export interface PostgresJsSql {
  readonly options: object
  readonly PostgresError: unknown
  unsafe(text: string): PromiseLike<unknown>
}

/**
 * postgres.js on the transaction of a handler: `postgresStore({ pool, tx: postgresJsTx(postgres, sql) })`. The types and
 * transforms are those of your `sql`; its connections are not used, but for one question when the inbox starts.
 *
 * @throws OptionInvalidError for what is not `postgres` and a `sql` made by it
 */
export function postgresJsTx<Sql extends PostgresJsSql>(
  postgres: PostgresJs,
  sql: Sql,
): TxBinding<PostgresTx, PostgresJsTx<Sql>> {
  requirePostgres(postgres, sql)
  const known = new KnownStatements()
  return Object.freeze({
    engine: 'postgres' as const,
    load: async () => askForTypes(sql),
    bind: (tx: PostgresTx) => {
      const socket = (): LentSocket => new LentSocket(tx, known)
      const lent = postgres({ ...sql.options, ...LENT, socket }) as LentSql
      return asTransaction(tx, lent) as PostgresJsTx<Sql>
    },
  })
}

function requirePostgres(postgres: unknown, sql: unknown): void {
  refuseConnections('postgresJsTx', postgres, 'postgres and your sql: postgresJsTx(postgres, sql)')
  const given = sql as Partial<PostgresJsSql> | undefined
  const isSql = typeof sql === 'function' && typeof given?.options === 'object'
  const isPostgres = typeof postgres === 'function' && !('options' in postgres)
  if (!isSql || !isPostgres) {
    throw new OptionInvalidError('postgresJsTx', {
      message:
        'postgresJsTx must be given postgres and your sql, postgresJsTx(postgres, sql): what sql itself writes would not commit with the event',
    })
  }
  if ((postgres as unknown as PostgresJs).PostgresError === given?.PostgresError) return
  throw new OptionInvalidError('postgresJsTx', {
    message:
      'postgresJsTx must be given a sql that was made by the same copy of postgres: an import and a require load two',
  })
}

/** It learns the types of lists when it first connects, and shares them with all that have the same options. */
async function askForTypes(sql: PostgresJsSql): Promise<void> {
  try {
    await sql.unsafe('select 1')
  } catch (cause) {
    throw new StoreUnavailableError('Your sql of postgres.js cannot use its database', { cause })
  }
}

/** In place of the user's own: one connection that nothing ends, and that asks for nothing of itself. */
const LENT = {
  max: 1,
  ssl: false,
  idle_timeout: null,
  max_lifetime: null,
  fetch_types: false,
  target_session_attrs: null,
  onclose: undefined,
  onnotify: undefined,
  onparameter: undefined,
}

type LentSql = ((...given: unknown[]) => unknown) & Readonly<Record<string, unknown>>

/** What works on any connection. The rest makes, keeps or ends one. */
const SHARED = ['typed', 'types', 'unsafe', 'file', 'array', 'json', 'notify', 'parameters']

function asTransaction(tx: PostgresTx, sql: LentSql): unknown {
  const nest = (...given: readonly unknown[]): Promise<unknown> => {
    const work = given.at(-1)
    return tx.savepoint(async () => {
      const result: unknown = await (work as (sql: unknown) => unknown)(lent)
      return Array.isArray(result) ? Promise.all(result as unknown[]) : result
    })
  }
  const lent: unknown = Object.assign((...given: unknown[]) => sql(...given), {
    ...Object.fromEntries(SHARED.map((name) => [name, sql[name]])),
    savepoint: nest,
    begin: (...given: readonly unknown[]) => {
      requireModes(given)
      return nest(...given)
    },
    prepare: () => {
      throw new HookonceError(
        'TRANSACTION_CONTROL',
        "A handler's transaction is opened and ended by hookonce: prepare is refused",
      )
    },
  })
  return lent
}

/** What a handler's transaction is anyway. */
const MODES = /isolation level read (?:un)?committed|read write|(?:not )?deferrable|[ ,]/gi

function requireModes([options]: readonly unknown[]): void {
  if (typeof options !== 'string' || options.replaceAll(MODES, '') === '') return
  throw new HookonceError(
    'TRANSACTION_CONTROL',
    `A handler's transaction is opened and ended by hookonce: ${options} is refused`,
  )
}
