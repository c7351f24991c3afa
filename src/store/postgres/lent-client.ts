/**
 * A lent transaction in the shape of a client of `pg`, for libraries that take one.
 *
 * Whatever a library does with a client it does with the transaction: its statements go through `tx`, one after the
 * other, and are refused once the handler has ended. Its own transactions are savepoints (`tx.asNested()`). There is
 * no connection to open or to give back, so that `connect`, `release` and `end` do nothing.
 *
 * Only PostgreSQL: on SQLite libraries expect the shapes of several drivers.
 *
 * @module
 */

import { EventEmitter } from 'node:events'
import { OptionInvalidError } from '../../errors.ts'
import { quoteName } from '../shared/quote-name.ts'
import type { PgResult, PgTypeParsers } from './driver.ts'
import type { PostgresTx } from './tx.ts'

/** What a client of `pg` looks like to a library, over a lent transaction. */
export interface LentPgClient extends EventEmitter {
  /** Every form that `pg` has: a text or an object, values beside it or in it, a promise or a callback. */
  query(query: unknown, values?: unknown, callback?: unknown): Promise<PgResult>
  connect(callback?: () => void): Promise<LentPgClient>
  release(): void
  end(callback?: () => void): Promise<void>
  ref(): void
  unref(): void
  escapeIdentifier(name: string): string
  escapeLiteral(text: string): string
}

type Callback = (error: unknown, result?: PgResult) => void

/**
 * A client of `pg` that is the transaction of a handler, for a library that takes a client: say as what,
 * `asPgClient<pg.PoolClient>(sql)`. A transaction that the library opens is a savepoint, and it cannot end the
 * handler's own. Cursors and streams are refused.
 *
 * `types` reads the values of every answer whose query says nothing of them, as `types` of a client of `pg` does. Left
 * out, those of the store's pool do.
 *
 * @throws OptionInvalidError for what is no transaction of a handler
 */
export function asPgClient<Client = LentPgClient>(tx: PostgresTx, types?: PgTypeParsers): Client {
  if (typeof (tx as { asNested?: unknown } | undefined)?.asNested !== 'function') {
    throw new OptionInvalidError('asPgClient', 'given the transaction of a handler, ctx.sql', tx)
  }
  const nested = types === undefined ? tx.asNested() : readingWith(types, tx.asNested())
  const client: LentPgClient = Object.assign(new EventEmitter(), {
    query: (...given: [unknown, unknown?, unknown?]) => query(nested, ...given),
    connect: async (callback?: () => void) => {
      callback?.()
      return client
    },
    release: () => undefined,
    end: async (callback?: () => void) => callback?.(),
    ref: () => undefined,
    unref: () => undefined,
    escapeIdentifier: quoteName,
    escapeLiteral: quoteLiteral,
  })
  return client as Client
}

type Query = Parameters<PostgresTx['query']>[0]

function readingWith(types: PgTypeParsers, tx: PostgresTx): PostgresTx {
  return {
    ...tx,
    query: (query: Query, values?: readonly unknown[]) => tx.query(withTypes(query, types), values),
  }
}

function withTypes(query: Query, types: PgTypeParsers): Query {
  if (typeof query === 'string') return { text: query, types }
  if (typeof query !== 'object' || query === null || query.types !== undefined) return query
  // A view of it, as below.
  return Object.create(query, { types: { value: types } }) as Query
}

/** As `pg` reads its arguments: the callback is the last, or a member of the query. */
function query(
  tx: PostgresTx,
  config: unknown,
  values?: unknown,
  callback?: unknown,
): Promise<PgResult> {
  const asked = config as Parameters<PostgresTx['query']>[0]
  if (typeof values === 'function') return answerTo(values as Callback, tx.query(asked))
  const list = values as readonly unknown[] | undefined
  if (typeof callback === 'function') return answerTo(callback as Callback, tx.query(asked, list))
  const inQuery = (config as { readonly callback?: unknown } | null | undefined)?.callback
  if (typeof inQuery !== 'function') return tx.query(asked, list)
  // A view of it: what a library puts together may have its text and values behind getters.
  const without = Object.create(asked as object, { callback: { value: undefined } }) as typeof asked
  return answerTo(inQuery as Callback, tx.query(without, list))
}

/** In a tick of its own, as `pg` does it, so that what the callback throws is no rejection of the statement. */
function answerTo(callback: Callback, answer: Promise<PgResult>): Promise<PgResult> {
  answer.then(
    (result) => process.nextTick(callback, null, result),
    (error: unknown) => process.nextTick(callback, error),
  )
  return answer
}

/** A backslash means itself only in a text that says so. */
function quoteLiteral(text: string): string {
  const quoted = `'${text.replaceAll("'", "''").replaceAll('\\', '\\\\')}'`
  return text.includes('\\') ? ` E${quoted}` : quoted
}
