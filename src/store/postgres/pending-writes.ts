/**
 * Statements of handlers whose answers nobody waits for, sent together.
 *
 * A statement that is waited for costs a round trip: two system calls here, two there, and both processes
 * woken up. Statements that are sent together cost that once for all of them, and a text that is repeated is
 * parsed once. They stay in their order, also against those that are waited for, so that a handler sees what
 * it and the handlers before it have written.
 *
 * It speaks the protocol through what `pg` gives to its own extensions (a cursor, say): an object with
 * `submit`. The text is parsed into the unnamed statement, which lives as long as the connection's next
 * one and is therefore safe behind a pooler. With a client that has none of this, each is sent by itself.
 *
 * @module
 */

import { OptionInvalidError } from '../../errors.ts'
import type { Connection } from './connection.ts'
import type { PgPoolClient } from './driver.ts'

export interface Write {
  readonly text: string
  readonly values: readonly unknown[]
}

export class PendingWrites {
  readonly #connection: Connection
  #waiting: Write[] = []

  constructor(connection: Connection) {
    this.#connection = connection
  }

  get isEmpty(): boolean {
    return this.#waiting.length === 0
  }

  /** The values are taken as they are now: whoever changes them later changes nothing here. */
  add({ text, values }: Write): void {
    const toText = findValueMapper(this.#connection.client)
    this.#waiting.push({ text, values: toText === undefined ? [...values] : values.map(toText) })
  }

  /** What it was for is rolled back. */
  drop(): void {
    this.#waiting = []
  }

  /** Throws what the first of them that failed was told. */
  async send(): Promise<void> {
    const writes = this.#waiting
    if (writes.length === 0) return
    this.#waiting = []
    const connection = this.#connection
    if (findValueMapper(connection.client) === undefined) {
      for (const { text, values } of writes) await connection.passOn({ text, values: [...values] })
      return
    }
    await connection.submit((client) => submitAll(client, writes))
  }
}

function submitAll(client: PgPoolClient, writes: readonly Write[]): Promise<void> {
  return new Promise((resolve, reject) => {
    const batch = new WriteBatch(writes, (error) => (error == null ? resolve() : reject(error)))
    ;(client as unknown as { query(submittable: WriteBatch): void }).query(batch)
  })
}

/** What the driver calls while this is what it is waiting for. */
class WriteBatch {
  readonly #writes: readonly Write[]
  /** Public, since a driver with a time limit for statements puts its own around it. */
  callback: (error: Error | null | undefined) => void

  constructor(writes: readonly Write[], callback: (error: Error | null | undefined) => void) {
    this.#writes = writes
    this.callback = callback
  }

  submit(protocol: Protocol): null {
    let parsed: string | undefined
    protocol.stream.cork()
    for (const { text, values } of this.#writes) {
      if (text !== parsed) protocol.parse({ text, name: '' })
      parsed = text
      protocol.bind({ values })
      protocol.execute({})
    }
    protocol.sync()
    protocol.stream.uncork()
    return null
  }

  handleError(error: Error): void {
    this.callback(error)
  }

  handleReadyForQuery(): void {
    this.callback(null)
  }

  handleCopyInResponse(protocol: Protocol): void {
    protocol.sendCopyFail('Not for a write')
  }

  // Of no interest, and called all the same.
  handleRowDescription(): void {}
  handleDataRow(): void {}
  handlePortalSuspended(): void {}
  handleCommandComplete(): void {}
  handleEmptyQuery(): void {}
  handleCopyData(): void {}
}

interface Protocol {
  readonly stream: { cork(): void; uncork(): void }
  parse(message: { text: string; name: string }): void
  bind(message: { values: readonly unknown[] }): void
  execute(message: object): void
  sync(): void
  sendCopyFail(reason: string): void
}

type ValueMapper = (value: unknown) => unknown

/** By the driver's class of queries; `null` for one that does not work this way. */
const mappers = new WeakMap<object, ValueMapper | null>()

/**
 * How the driver turns values into what is sent, which only its own queries know: one of them is shown a
 * protocol that remembers. `undefined` when the client is not one that can be used like this.
 */
function findValueMapper(client: PgPoolClient): ValueMapper | undefined {
  const { pipeline, connection } = client as { pipeline?: boolean; connection?: object }
  // In its own pipeline mode the driver takes no queries but its own.
  if (pipeline === true || connection === undefined) return undefined
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
    stream: {},
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
  return typeof mapper === 'function' ? (value) => (mapper as ValueMapper)(value) : undefined
}

export function requireWrite(text: unknown, values: unknown): Write {
  if (typeof text !== 'string') throw new OptionInvalidError('tx.write text', 'a string', text)
  if (values !== undefined && !Array.isArray(values))
    throw new OptionInvalidError('tx.write values', 'a list', values)
  return { text, values: values ?? [] }
}
