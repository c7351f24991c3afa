/**
 * Statements with their values, sent together: one round trip for all of them.
 *
 * A text of several statements takes no parameters, and values are not put into a text. So each statement is parsed,
 * bound and executed by itself, and the server is asked for an answer once, after the last. When one fails the
 * server skips the rest, as it does in a text.
 *
 * It speaks the protocol through what `pg` gives to its own extensions (a cursor, say): an object with `submit`. A
 * text is parsed into the unnamed statement, which lives until the connection's next one and is therefore safe
 * behind a pooler.
 *
 * Only PostgreSQL: on SQLite a statement is a call in this process, and there are no round trips.
 *
 * @module
 */

import type { PgPoolClient, PgResult } from './driver.ts'

export interface Statement {
  readonly text: string
  readonly values?: readonly unknown[]
}

/** In its own pipeline mode the driver takes no queries but its own. */
export function takesBatches(client: PgPoolClient): boolean {
  const { pipeline, connection } = client as { pipeline?: boolean; connection?: object }
  return pipeline !== true && connection !== undefined && findValueMapper(client) !== undefined
}

/**
 * The answers in the order of the statements, their values as PostgreSQL's text. Throws what the first that failed
 * was told.
 */
export function sendBatch(
  client: PgPoolClient,
  statements: readonly Statement[],
  { wantsRows }: { readonly wantsRows: boolean },
): Promise<readonly PgResult[]> {
  const toSent = findValueMapper(client) ?? String
  return new Promise((resolve, reject) => {
    const batch = new StatementBatch(statements, { wantsRows, toSent }, (error) =>
      error == null ? resolve(batch.results) : reject(error),
    )
    const driver = client as unknown as { query(submittable: StatementBatch): unknown }
    // It gives back what it was given; what is around it may give a promise, and that may fail.
    Promise.resolve(driver.query(batch)).catch(reject)
  })
}

interface BatchOptions {
  /** Whether to ask for the names of columns, without which no row is kept. */
  readonly wantsRows: boolean
  readonly toSent: ValueMapper
}

/** What the driver calls while this is what it is waiting for. */
class StatementBatch {
  readonly results: PgResult[] = []
  readonly #statements: readonly Statement[]
  readonly #options: BatchOptions
  #fields: PgResult['fields'] = []
  #rows: Record<string, unknown>[] = []
  /** Public, since a driver with a time limit for statements puts its own around it. */
  callback: (error: Error | null | undefined) => void

  constructor(
    statements: readonly Statement[],
    options: BatchOptions,
    callback: (error: Error | null | undefined) => void,
  ) {
    this.#statements = statements
    this.#options = options
    this.callback = callback
  }

  submit(protocol: Protocol): null {
    const { wantsRows, toSent } = this.#options
    let parsed: string | undefined
    // Not every stream that a driver may be given has it.
    protocol.stream.cork?.()
    try {
      for (const { text, values = [] } of this.#statements) {
        // One that is repeated is parsed once.
        if (text !== parsed) protocol.parse({ text, name: '' })
        parsed = text
        protocol.bind({ values: values.map((value) => toSent(value)) })
        if (wantsRows) protocol.describe({ type: 'P', name: '' })
        protocol.execute({})
      }
    } finally {
      // Without an end the server would wait for one, and the client with it.
      protocol.sync()
      protocol.stream.uncork?.()
    }
    return null
  }

  handleError(error: Error): void {
    this.callback(error)
  }

  handleReadyForQuery(): void {
    this.callback(null)
  }

  handleRowDescription({ fields }: { fields: PgResult['fields'] }): void {
    this.#fields = fields
  }

  handleDataRow({ fields }: { fields: readonly (string | null)[] }): void {
    if (this.#fields.length > 0)
      this.#rows.push(Object.fromEntries(this.#fields.map(({ name }, at) => [name, fields[at]])))
  }

  handleCommandComplete({ text }: { text?: string }): void {
    const [command = '', ...counts] = (text ?? '').split(' ')
    const rowCount = counts.length === 0 ? null : Number(counts.at(-1))
    this.results.push({ command, rowCount, rows: this.#rows, fields: this.#fields })
    this.#fields = []
    this.#rows = []
  }

  /** The server drops a Sync that comes while it waits for rows, and needs another. */
  handleCopyInResponse(protocol: Protocol): void {
    protocol.sendCopyFail('Not for statements that are sent together')
    protocol.sync()
  }

  // Of no interest, and called all the same.
  handlePortalSuspended(): void {}
  handleEmptyQuery(): void {}
  handleCopyData(): void {}
}

interface Protocol {
  readonly stream: { cork?(): void; uncork?(): void }
  parse(message: { text: string; name: string }): void
  bind(message: { values: readonly unknown[] }): void
  describe(message: { type: 'P'; name: string }): void
  execute(message: object): void
  sync(): void
  sendCopyFail(reason: string): void
}

type ValueMapper = (value: unknown) => unknown

/** By the driver's class of queries; `null` for one that does not work this way. */
const mappers = new WeakMap<object, ValueMapper | null>()

/**
 * How the driver turns values into what is sent, which only its own queries know: one of them is shown a
 * protocol that remembers. `undefined` when the client is not one that can be asked like this.
 */
export function findValueMapper(client: PgPoolClient): ValueMapper | undefined {
  const { Query } = client.constructor as { Query?: QueryClass }
  if (typeof Query !== 'function') return undefined
  let found = mappers.get(Query)
  if (found === undefined) {
    found = askForValueMapper(Query) ?? null
    mappers.set(Query, found)
  }
  return found ?? undefined
}

type QueryClass = new (config: { text: string; values: unknown[] }) => {
  submit(protocol: object): unknown
}

function askForValueMapper(Query: QueryClass): ValueMapper | undefined {
  let mapper: unknown
  const nothing = (): void => undefined
  const protocol = {
    parsedStatements: {},
    submittedNamedStatements: {},
    stream: { cork: nothing, uncork: nothing },
    parse: nothing,
    bind: (message: { valueMapper?: unknown }) => (mapper = message.valueMapper),
    describe: nothing,
    execute: nothing,
    sync: nothing,
    flush: nothing,
    close: nothing,
  }
  try {
    new Query({ text: 'select $1', values: [1] }).submit(protocol)
  } catch {
    return undefined
  }
  return typeof mapper === 'function' ? (mapper as ValueMapper) : undefined
}
