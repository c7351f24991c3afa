/**
 * Statements whose answers the handlers do not wait for, sent together.
 *
 * A statement that is waited for costs a round trip: two system calls here, two there, and both processes
 * woken up. Statements that are sent together cost that once for all of them, and a text that is repeated is
 * parsed once. They stay in their order, also against those that are waited for, so that a handler sees what
 * it and the handlers before it have written.
 *
 * It speaks the protocol through what `pg` gives to its own extensions (a cursor, say): an object with
 * `submit`. The text is parsed into the unnamed statement, which lives until the connection's next one and is
 * therefore safe behind a pooler. With a client that has none of this, each is sent by itself.
 *
 * @module
 */

import type { Write } from '../contract/transaction.ts'
import type { Connection } from './connection.ts'
import type { PgPoolClient } from './driver.ts'

export class PendingWrites {
  readonly #connection: Connection
  readonly #prepare: () => Promise<void> | undefined
  #waiting: Write[] = []
  /** How many have left, sent or dropped. */
  #gone = 0
  #drops = 0

  /** `prepare` is what has to be done before any of them is sent. */
  constructor(connection: Connection, prepare: () => Promise<void> | undefined) {
    this.#connection = connection
    this.#prepare = prepare
  }

  get isEmpty(): boolean {
    return this.#waiting.length === 0
  }

  /** How many there were so far. What is called now comes after these, and before all others. */
  get added(): number {
    return this.#gone + this.#waiting.length
  }

  /** The values are taken as they are now: a handler that changes them later changes nothing here. */
  add({ text, values }: Write): void {
    const toSent = findValueMapper(this.#connection.client) ?? copyOf
    this.#waiting.push({ text, values: values.map((value) => toSent(value)) })
  }

  /** What it was for is rolled back. */
  drop(): void {
    this.#take(this.added)
    this.#drops += 1
  }

  /** Throws what the first of them that failed was told. */
  async send(until = this.added): Promise<void> {
    const preparing = this.#prepare()
    if (preparing !== undefined) await preparing
    const writes = this.#take(until)
    if (writes.length === 0) return
    const connection = this.#connection
    if (takesSubmittables(connection.client))
      return connection.submit((client) => submitAll(client, writes))
    const drops = this.#drops
    for (const { text, values } of writes) {
      // Its transaction has gone on without the rest.
      if (this.#drops !== drops) return
      await connection.passOn({ text, values: [...values], queryMode: 'extended' })
    }
  }

  #take(until: number): readonly Write[] {
    const taken = this.#waiting.splice(0, until - this.#gone)
    this.#gone += taken.length
    return taken
  }
}

function submitAll(client: PgPoolClient, writes: readonly Write[]): Promise<void> {
  return new Promise((resolve, reject) => {
    const batch = new WriteBatch(writes, (error) => (error == null ? resolve() : reject(error)))
    const driver = client as unknown as { query(submittable: WriteBatch): unknown }
    // It gives back what it was given; what is around it may give a promise, and that may fail.
    Promise.resolve(driver.query(batch)).catch(reject)
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
    // Not every stream that a driver may be given has it.
    protocol.stream.cork?.()
    try {
      for (const { text, values } of this.#writes) {
        if (text !== parsed) protocol.parse({ text, name: '' })
        parsed = text
        protocol.bind({ values })
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

  /** `tx.write` refuses COPY. The server drops a Sync that comes while it waits for rows, and needs another. */
  handleCopyInResponse(protocol: Protocol): void {
    protocol.sendCopyFail('Not for a write')
    protocol.sync()
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
  readonly stream: { cork?(): void; uncork?(): void }
  parse(message: { text: string; name: string }): void
  bind(message: { values: readonly unknown[] }): void
  execute(message: object): void
  sync(): void
  sendCopyFail(reason: string): void
}

/** In its own pipeline mode the driver takes no queries but its own. */
function takesSubmittables(client: PgPoolClient): boolean {
  const { pipeline, connection } = client as { pipeline?: boolean; connection?: object }
  return pipeline !== true && connection !== undefined && findValueMapper(client) !== undefined
}

type ValueMapper = (value: unknown) => unknown

/** By the driver's class of queries; `null` for one that does not work this way. */
const mappers = new WeakMap<object, ValueMapper | null>()

/**
 * How the driver turns values into what is sent, which only its own queries know: one of them is shown a
 * protocol that remembers. `undefined` when the client is not one that can be asked like this.
 */
function findValueMapper(client: PgPoolClient): ValueMapper | undefined {
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
  if (typeof mapper !== 'function') return undefined
  const map = mapper as ValueMapper
  // Bytes are sent as they are, and may be changed until then.
  return (value) => copyOf(map(value))
}

/**
 * For a driver that cannot be asked: what is plain is copied, and what has a way of its own to become a value
 * is left to the driver.
 */
function copyOf(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (ArrayBuffer.isView(value))
    return Buffer.from(new Uint8Array(value.buffer, value.byteOffset, value.byteLength))
  if (value instanceof Date) return new Date(value)
  if (Array.isArray(value)) return value.map(copyOf)
  const isPlain = [Object.prototype, null].includes(Object.getPrototypeOf(value) as object | null)
  if (!isPlain || 'toPostgres' in value || 'toJSON' in value) return value
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, copyOf(each)]))
}
