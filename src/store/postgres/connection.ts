/**
 * One client taken from the user's pool, for as long as we need it.
 *
 * - No statement waits for ever: each has a time limit, and a client that did not answer in time is
 *   destroyed with its socket and never used again, since its answer might still come.
 * - An error on the client while no statement runs ends the connection and not the process.
 * - Values come back as PostgreSQL's text whatever parsers the user gave to `pg`, and the statements
 *   ask for text that does not depend on settings such as DateStyle or bytea_output.
 * - A statement that a caller sends after a rollback has begun, without knowing of it yet, is refused.
 * - Nothing of ours relies on the session: no SET without LOCAL, no named statements, no session locks. A
 *   handler's statements get names where the session is known to last (`statement-names.ts`).
 *
 * @module
 */

import { StoreUnavailableError } from '../../errors.ts'
import { judgeCommit } from './commit.ts'
import type { PgPoolClient, PgQueryConfig, PgResult } from './driver.ts'
import { sendBatch, takesBatches } from './statement-batch.ts'
import type { Statement } from './statement-batch.ts'
import { findSqlState } from './store-error.ts'

/** Every column as text, or `null`. */
export type TextRow<Names extends string = string> = Readonly<Record<Names, string | null>>

/** What differs from server to server. */
export interface ServerTraits {
  /** Whether it has a `transaction_timeout`: from PostgreSQL 17 on. */
  readonly hasTransactionTimeout: boolean
}

/** As long as nothing is known of the server. */
const UNKNOWN_SERVER: ServerTraits = { hasTransactionTimeout: false }

export class Connection {
  readonly server: ServerTraits
  readonly #client: PgPoolClient
  readonly #bind: BindSchema
  #status: string | null = null
  #hasFailed = false
  #isLost = false
  #isReturned = false
  #isEnding = false
  #deadlineAt: number
  #eachMs = Infinity

  constructor(
    client: PgPoolClient,
    bind: BindSchema,
    deadlineAt: number,
    server: ServerTraits = UNKNOWN_SERVER,
  ) {
    this.server = server
    this.#client = client
    this.#bind = bind
    this.#deadlineAt = deadlineAt
    client.on('error', this.#onLost)
    client.on('end', this.#onLost)
    findProtocol(client)?.on('readyForQuery', this.#onReady)
  }

  get client(): PgPoolClient {
    return this.#client
  }

  /** Whether `transactionStatus` can be relied on once a statement was answered. */
  get tellsStatus(): boolean {
    const client = this.#client
    return client.getTransactionStatus !== undefined || findProtocol(client) !== undefined
  }

  get isLost(): boolean {
    return this.#isLost
  }

  /**
   * `I` outside a transaction, `T` in one, `E` in one that failed.
   *
   * The driver rejects a statement when its error arrives, and learns the new status from a message
   * that may come later. An error inside a transaction leaves it failed, so that need not be waited for.
   */
  get transactionStatus(): string | null {
    const status = this.#client.getTransactionStatus?.() ?? this.#status
    return status === 'T' && this.#hasFailed ? 'E' : status
  }

  /**
   * Waits until the server has answered all it was sent, also by a handler that has the client itself.
   *
   * A handler that ended the transaction through the client may hear of an error before the
   * new status is here. Read too early it would say that all is well, and the next event would run
   * outside any transaction (`test/faults/ended-transaction.test.ts`).
   */
  async untilAnswered(): Promise<void> {
    const client = this.#client
    const protocol = findProtocol(client)
    while (protocol !== undefined && !this.#isLost && isBusy(client)) {
      await new Promise<void>((resolve) => {
        const end = (): void => {
          protocol.removeListener('readyForQuery', end)
          client.removeListener('end', end)
          client.removeListener('error', end)
          resolve()
        }
        protocol.on('readyForQuery', end)
        client.on('end', end)
        client.on('error', end)
      })
    }
  }

  /** Calls back for the tag of every statement that was done, until stopped; `undefined` where none can be heard. */
  onTag(listener: (tag: string) => void): (() => void) | undefined {
    const protocol = findProtocol(this.#client)
    if (protocol === undefined) return undefined
    const onComplete = ({ text }: { text?: string }): void => listener(text ?? '')
    protocol.on('commandComplete', onComplete)
    return () => protocol.removeListener('commandComplete', onComplete)
  }

  /** From now on every statement has this long. Before, all of them shared the time given at check-out. */
  limitEachTo(timeoutMs: number): void {
    this.#deadlineAt = Infinity
    this.#eachMs = timeoutMs
  }

  /** Runs one statement with parameters. `{schema}` in it is replaced by ours. */
  async query<Names extends string>(
    sql: string,
    values: unknown[] = [],
  ): Promise<PgResult<TextRow<Names>>> {
    const result = await this.#send({ text: this.#bind(sql), values, types: AS_TEXT })
    return result as PgResult<TextRow<Names>>
  }

  /**
   * Runs one statement that is a transaction of its own, and returns when it is durable.
   *
   * @throws CommitUnknownError when it is not known whether it is
   */
  async commitQuery<Names extends string>(
    sql: string,
    values: unknown[],
  ): Promise<PgResult<TextRow<Names>>> {
    const answer = await judgeCommit(this, async () => this.query<Names>(sql, values))
    if (answer.status !== 'committed') throw answer.error
    if (this.transactionStatus === 'I') return answer.result
    // What was written is in a transaction that another user of the pool left open.
    this.destroy()
    throw leftOpen()
  }

  /** Runs a text without parameters, which may have several statements. */
  async run(text: string): Promise<void> {
    await this.#send({ text, types: AS_TEXT })
  }

  /**
   * Runs statements in one round trip; the results in their order. With a driver that takes no batch it is one round
   * trip for each.
   */
  async runTogether(statements: readonly Statement[]): Promise<readonly PgResult<TextRow>[]> {
    return this.#runTogether(statements, { isLast: false })
  }

  /**
   * The last that its holder asks for, such as a rollback: whatever is asked for after it is refused. A holder that is
   * between two statements, and does not know that the transaction is over, would commit the next one by itself: an event was
   * `done` that way, and what its handler had written was rolled back (`test/store/contract/settle.ts`).
   */
  async endWith(statements: readonly Statement[]): Promise<readonly PgResult<TextRow>[]> {
    this.#isEnding = true
    return this.#runTogether(statements, { isLast: true })
  }

  async #runTogether(
    statements: readonly Statement[],
    terms: SendTerms,
  ): Promise<readonly PgResult<TextRow>[]> {
    const bound = statements.map(({ text, values = [] }) => ({ text: this.#bind(text), values }))
    if (takesBatches(this.#client)) {
      const send = (): Promise<readonly PgResult[]> =>
        this.#submit((client) => sendBatch(client, bound, { wantsRows: true }))
      return (await this.#inTime(send, terms)) as readonly PgResult<TextRow>[]
    }
    const results: PgResult[] = []
    for (const { text, values } of bound)
      results.push(await this.#send({ text, values: [...values], types: AS_TEXT }, terms))
    return results as PgResult<TextRow>[]
  }

  async #send(config: PgQueryConfig, terms: SendTerms = { isLast: false }): Promise<PgResult> {
    return this.#inTime(() => this.#submit((client) => client.query(config)), terms)
  }

  async #inTime<T>(send: () => Promise<T>, { isLast }: SendTerms): Promise<T> {
    if (this.#isLost) throw new StoreUnavailableError('The connection to PostgreSQL was lost')
    this.#requireHeld(isLast)
    const timeoutMs = Math.min(this.#eachMs, this.#deadlineAt - performance.now())
    if (timeoutMs <= 0) throw new StoreUnavailableError('There was no time left to ask PostgreSQL')
    return withTimeout(send(), timeoutMs, () => {
      this.destroy()
      return new StoreUnavailableError('PostgreSQL did not answer in time')
    })
  }

  /** Runs a handler's statement as it is: with the user's parsers, and for as long as it takes. */
  async passOn(config: PgQueryConfig): Promise<PgResult> {
    return this.submit((client) => client.query(config))
  }

  /**
   * Lets something be sent that belongs to a handler, and learns from how it fails. Behind a ROLLBACK it would
   * commit by itself.
   */
  async submit<T>(send: (client: PgPoolClient) => Promise<T>): Promise<T> {
    this.#requireHeld(false)
    return this.#submit(send)
  }

  #requireHeld(isLast: boolean): void {
    if (!this.#isReturned && (isLast || !this.#isEnding)) return
    throw new StoreUnavailableError('The transaction was given up meanwhile')
  }

  async #submit<T>(send: (client: PgPoolClient) => Promise<T>): Promise<T> {
    try {
      return await send(this.#client)
    } catch (error) {
      const state = findSqlState(error)
      if (state !== undefined && findProtocol(this.#client) !== undefined) this.#hasFailed = true
      // A backend that was told to stop says so, and its socket closes a moment later.
      if (state !== undefined && /^(?:08|57P|25P0[34])/.test(state)) this.#isLost = true
      throw error
    }
  }

  /** Gives the client back to the pool. Only for one that is outside any transaction. */
  returnToPool(): void {
    if (this.#isReturned) return
    if (this.#isLost || (this.transactionStatus ?? 'I') !== 'I') return this.destroy()
    this.#isReturned = true
    this.#detach()
    this.#client.release()
  }

  /** Closes the connection, without a word to a server that may not listen. */
  destroy(): void {
    this.#isLost = true
    if (this.#isReturned) return
    this.#isReturned = true
    // The listeners stay: an error of a dying socket without a listener would end the process.
    this.#client.release(true)
    findProtocol(this.#client)?.stream?.destroy()
  }

  #detach(): void {
    this.#client.removeListener('error', this.#onLost)
    this.#client.removeListener('end', this.#onLost)
    findProtocol(this.#client)?.removeListener('readyForQuery', this.#onReady)
  }

  readonly #onLost = (): void => {
    this.#isLost = true
  }

  readonly #onReady = (message: { status?: string }): void => {
    this.#status = message.status ?? null
    this.#hasFailed = false
  }
}

interface SendTerms {
  readonly isLast: boolean
}

/** Replaces `{schema}` in a static text, once. */
export type BindSchema = (sql: string) => string

export function createSchemaBinding(quotedSchema: string): BindSchema {
  const bound = new Map<string, string>()
  return (sql) => {
    let text = bound.get(sql)
    if (text === undefined) {
      text = sql.replaceAll('{schema}', quotedSchema)
      bound.set(sql, text)
    }
    return text
  }
}

export function leftOpen(): StoreUnavailableError {
  return new StoreUnavailableError('The pool lent a connection that was inside a transaction')
}

/** What is looked at when a transaction that was lent to handlers has ended. */
export interface LastLook {
  readonly lastLook: Statement
  /** By the answer to it: gives the connection back, or closes it. */
  leave(answer: PgResult | undefined): void
}

/** Ends a transaction that came to nothing. Bounded, never throws. `watch` where it was lent to handlers. */
export async function rollBack(connection: Connection, watch?: LastLook): Promise<void> {
  try {
    connection.limitEachTo(ROLLBACK_TIMEOUT_MS)
    const last = watch === undefined ? [] : [watch.lastLook]
    const [, look] = await connection.endWith([{ text: 'rollback' }, ...last])
    if (watch === undefined) connection.returnToPool()
    else watch.leave(look)
  } catch {
    connection.destroy()
  }
}

const ROLLBACK_TIMEOUT_MS = 5_000

const asText = (value: string): string => value
const AS_TEXT = { getTypeParser: () => asText }

interface Protocol {
  on(event: ProtocolEvent, listener: (message: ProtocolMessage) => void): unknown
  removeListener(event: ProtocolEvent, listener: (message: ProtocolMessage) => void): unknown
  readonly stream?: { destroy(): void }
}

type ProtocolEvent = 'readyForQuery' | 'commandComplete'
type ProtocolMessage = { readonly status?: string; readonly text?: string }

/** Whether the driver waits for an answer. Nothing is said of a driver that does not tell. */
function isBusy(client: PgPoolClient): boolean {
  return (client as { readyForQuery?: boolean }).readyForQuery === false
}

/** The driver's own connection object, which the native variant of `pg` does not have. */
function findProtocol(client: PgPoolClient): Protocol | undefined {
  return (client as { connection?: Protocol }).connection
}

async function withTimeout<T>(
  work: Promise<T>,
  timeoutMs: number,
  onTimeout: () => Error,
): Promise<T> {
  if (timeoutMs === Infinity) return work
  let timer: NodeJS.Timeout | undefined
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(onTimeout()), timeoutMs)
  })
  try {
    return await Promise.race([work, timeout])
  } finally {
    clearTimeout(timer)
  }
}
