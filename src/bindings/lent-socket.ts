/**
 * A socket with a lent transaction behind it instead of a server, for a library that speaks PostgreSQL's protocol and
 * takes a socket.
 *
 * It reads the messages that the library writes, runs what they ask for through the transaction, and answers as a
 * server would. So the library builds, types and reads its statements as it always does, and every one of them passes
 * the transaction's guards. Messages are answered one after the other, as a server does it; after an error the rest is
 * skipped up to the next Sync.
 *
 * A cursor gets all rows at once, COPY and cancelling are refused.
 *
 * @module
 */

import { EventEmitter } from 'node:events'
import { HookonceError } from '../errors.ts'
import { describeStatement } from '../store/postgres/describe-statement.ts'
import type { StatementDescription } from '../store/postgres/describe-statement.ts'
import type { PgResult, PgTypeParsers } from '../store/postgres/driver.ts'
import type { PostgresTx } from '../store/postgres/tx.ts'
import {
  BOUND,
  CLOSED,
  commandComplete,
  dataRow,
  errorResponse,
  MessageReader,
  MessageSplitter,
  parameterDescription,
  PARSED,
  READY,
  rowDescription,
  WELCOME,
} from './wire-messages.ts'
import type { FrontendMessage } from './wire-messages.ts'

/** What is known of a statement, for all transactions: to ask takes a round trip. */
export class KnownStatements {
  readonly #known = new Map<string, StatementDescription>()

  async describe(tx: PostgresTx, statement: Statement): Promise<StatementDescription> {
    const key = keyOf(statement)
    let found = this.#known.get(key)
    if (found === undefined) {
      found = await describeStatement(tx, statement.text, statement.types)
      // Texts that are put together anew each time would fill it.
      if (this.#known.size >= KNOWN_MAX) this.#known.clear()
      this.#known.set(key, found)
    }
    return found
  }

  /** What failed is asked for again: a migration may have changed a type. */
  forget(statement: Statement): void {
    this.#known.delete(keyOf(statement))
  }
}

const KNOWN_MAX = 1_000

interface Statement {
  readonly text: string
  /** Those that the library knows of its parameters; 0 for one that it asks for. */
  readonly types: readonly number[]
}

function keyOf({ text, types }: Statement): string {
  return JSON.stringify([text, types])
}

/** Has what postgres.js uses of a `net.Socket`. */
export class LentSocket extends EventEmitter {
  readonly readyState = 'open'
  readonly #tx: PostgresTx
  readonly #nested: PostgresTx
  readonly #known: KnownStatements
  readonly #splitter = new MessageSplitter()
  readonly #statements = new Map<string, Statement>()
  #tail: Promise<void> = Promise.resolve()
  #isSkipping = false
  /** Answered together with what comes next. */
  #isParsed = false
  #described: Statement | undefined
  #bound: { readonly statement: Statement; readonly values: (string | null)[] } | undefined

  constructor(tx: PostgresTx, known: KnownStatements) {
    super()
    this.#tx = tx
    this.#nested = tx.asNested()
    this.#known = known
  }

  write(chunk: Uint8Array, callback?: () => void): boolean {
    for (const message of this.#splitter.split(chunk))
      this.#tail = this.#tail.then(async () => this.#answer(message))
    if (callback !== undefined) process.nextTick(callback)
    return true
  }

  end(): void {
    this.destroy()
  }

  destroy(): void {
    process.nextTick(() => this.emit('close', false))
  }

  pause(): void {}

  resume(): void {}

  async #answer(message: FrontendMessage): Promise<void> {
    if (message.type === 'S') {
      this.#isSkipping = false
      return this.#send(READY)
    }
    if (this.#isSkipping) return
    try {
      await this.#handle(message)
    } catch (error) {
      // A simple query is its own Sync.
      this.#isSkipping = message.type !== 'Q'
      this.#isParsed = false
      this.#described = undefined
      this.#send(errorResponse(error), ...(message.type === 'Q' ? [READY] : []))
    }
  }

  async #handle({ type, body }: FrontendMessage): Promise<void> {
    const reader = new MessageReader(body)
    switch (type) {
      case '':
        return this.#open(reader)
      case 'Q':
        return this.#query(reader.text())
      case 'P': {
        const [name, text] = [reader.text(), reader.text()]
        this.#statements.set(name, { text, types: reader.list((from) => from.int32()) })
        this.#isParsed = true
        return
      }
      case 'D':
        this.#described = reader.letter() === 'S' ? this.#find(reader.text()) : undefined
        return
      case 'H':
        return this.#describe()
      case 'B':
        return this.#bind(reader)
      case 'E':
        return this.#execute()
      case 'C':
        return this.#send(CLOSED)
      case 'X':
        return
      default:
        throw new HookonceError('TRANSACTION_CONTROL', 'COPY is refused in a handler')
    }
  }

  #open(reader: MessageReader): void {
    if (reader.int32() === CANCEL_REQUEST) return this.destroy()
    this.#send(WELCOME)
  }

  async #query(text: string): Promise<void> {
    const answer: PgResult<unknown> | PgResult<unknown>[] = await this.#nested.query({
      text,
      ...IN_TEXT,
    })
    // Of a text with several statements the driver gives a list.
    const results = Array.isArray(answer) ? (answer as PgResult<unknown>[]) : [answer]
    this.#send(
      ...results.flatMap((result) => [
        ...(result.fields.length > 0 ? [rowDescription(result.fields)] : []),
        ...rowsOf(result),
        commandComplete(result),
      ]),
      READY,
    )
  }

  /** Only where the library waits for it, to know the types of its parameters. */
  async #describe(): Promise<void> {
    const statement = this.#described
    if (statement === undefined) return
    const { parameters, fields } = await this.#known.describe(this.#tx, statement)
    this.#described = undefined
    this.#send(...this.#takeParsed(), parameterDescription(parameters), rowDescription(fields))
  }

  #bind(reader: MessageReader): void {
    reader.text()
    const statement = this.#find(reader.text())
    reader.list(() => 0)
    this.#bound = { statement, values: reader.list((from) => from.value()) }
  }

  /** The columns are told each time: they may have changed since the statement was prepared. */
  async #execute(): Promise<void> {
    if (this.#bound === undefined) throw new Error('Nothing was bound to be executed')
    const { statement, values } = this.#bound
    const result = await this.#nested
      .query<unknown>(asked(statement, values))
      .catch((error: unknown) => {
        this.#known.forget(statement)
        throw error
      })
    const isDescribed = this.#described !== undefined
    this.#described = undefined
    this.#send(
      ...this.#takeParsed(),
      ...(isDescribed ? [parameterDescription(statement.types)] : []),
      rowDescription(result.fields),
      BOUND,
      ...rowsOf(result),
      commandComplete(result),
    )
  }

  #takeParsed(): Buffer[] {
    const isParsed = this.#isParsed
    this.#isParsed = false
    return isParsed ? [PARSED] : []
  }

  #find(name: string): Statement {
    const statement = this.#statements.get(name)
    if (statement === undefined) throw new Error(`There is no prepared statement ${name}`)
    return statement
  }

  #send(...messages: readonly Buffer[]): void {
    this.emit('data', Buffer.concat(messages))
  }
}

const CANCEL_REQUEST = 80_877_102

const asText = (value: string): string => value
const TEXT_PARSERS: PgTypeParsers = { getTypeParser: () => asText }
const IN_TEXT = { rowMode: 'array', types: TEXT_PARSERS } as const

/**
 * The driver takes the types of parameters in the place of the parsers, as a list: one that is both. A statement that
 * is repeated is prepared by its text, so that types are told there as well.
 */
function asked({ text, types }: Statement, values: readonly (string | null)[]) {
  const query = { text, values, ...IN_TEXT, queryMode: 'extended' as const }
  if (types.every((type) => type === 0)) return query
  return {
    ...query,
    text: `${text} /* ${types.join(' ')} */`,
    types: Object.assign([...types], TEXT_PARSERS),
  }
}

function rowsOf({ rows }: PgResult<unknown>): Buffer[] {
  return rows.map((row) => dataRow(row as (string | null)[]))
}
