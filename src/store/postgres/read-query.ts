/**
 * Reads what `tx.query` was called with, as `pg` would: a text, or an object with a text; values beside it come
 * before those in it.
 *
 * What `pg` can do beyond one answer in a promise is refused by its name, since it would go on after the
 * handler's transaction was given to the next.
 *
 * Only PostgreSQL: `SqliteTx` has a shape of its own, and takes a text and a list.
 *
 * @module
 */

import { OptionInvalidError } from '../../errors.ts'
import type { PgQueryConfig } from './driver.ts'

export interface ReadQuery {
  readonly text: string
  readonly values: readonly unknown[] | undefined
  /** How it is asked. Goes to the driver as it is. */
  readonly options: QueryOptions
}

type QueryOptions = Pick<PgQueryConfig, 'name' | 'rowMode' | 'types' | 'binary' | 'queryMode'>

/** Those of a text alone. */
export const NO_OPTIONS: QueryOptions = Object.freeze({})

/**
 * Thrown where the handler stands: code that passes a callback or a cursor waits for no promise, and would not
 * hear of a rejection.
 *
 * @throws OptionInvalidError
 */
export function refuseCallback(config: unknown, values: unknown, callback: unknown): void {
  const inConfig = isObject(config) ? config['callback'] : undefined
  if (typeof values === 'function' || callback !== undefined || inConfig !== undefined) {
    throw new OptionInvalidError('tx.query callback', 'left out: wait for the promise', 'callback')
  }
  if (isObject(config) && typeof config['submit'] === 'function') {
    const message =
      'tx.query takes no object that submits itself, such as those of pg-cursor, pg-query-stream and pg-copy-streams: it would read on after the handler has returned'
    throw new OptionInvalidError('tx.query', { message })
  }
}

/** @throws OptionInvalidError */
export function readQuery(config: unknown, beside: unknown): ReadQuery {
  const values = readValues(beside)
  if (typeof config === 'string') return { text: config, values, options: NO_OPTIONS }
  const query = requireObject(config)
  const { text } = query
  if (typeof text !== 'string') throw new OptionInvalidError('tx.query text', 'a string', text)
  for (const [name, instead] of Object.entries(UNSUPPORTED)) {
    if (query[name] === undefined) continue
    throw new OptionInvalidError(`tx.query ${name}`, `left out: ${instead}`, query[name])
  }
  requireName(query['name'])
  return { text, values: values ?? readValues(query['values']), options: readOptions(query) }
}

/** What `pg` reads of a query, and a lent transaction does not do. Other members mean nothing to either. */
const UNSUPPORTED: Readonly<Record<string, string>> = {
  rows: 'all rows come at once',
  portal: 'the driver names its own',
  query_timeout: "a statement that is given up runs on; the handler's timeoutMs stops it",
}

function requireObject(config: unknown): Record<string, unknown> {
  if (isObject(config)) return config
  throw new OptionInvalidError('tx.query', 'given a text, or an object with a text', config)
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}

/** `undefined` where there are none: to the driver anything that is no value at all is no list. */
function readValues(values: unknown): readonly unknown[] | undefined {
  if (values === undefined || values === null) return undefined
  if (Array.isArray(values)) return values as readonly unknown[]
  throw new OptionInvalidError('tx.query values', 'a list', values)
}

function requireName(name: unknown): void {
  if (name === undefined || name === null) return
  if (typeof name === 'string' && !name.startsWith('hookonce_')) return
  throw new OptionInvalidError('tx.query name', 'a text that does not begin with hookonce_', name)
}

const OPTION_NAMES = ['name', 'rowMode', 'types', 'binary', 'queryMode'] as const

function readOptions(query: Record<string, unknown>): QueryOptions {
  const given = OPTION_NAMES.filter((name) => query[name] !== undefined && query[name] !== null)
  return Object.fromEntries(given.map((name) => [name, query[name]]))
}
