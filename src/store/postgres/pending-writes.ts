/**
 * Statements whose answers the handlers do not wait for, sent together.
 *
 * A statement that is waited for costs a round trip: two system calls here, two there, and both processes
 * woken up. Statements that are sent together (`statement-batch.ts`) cost that once for all of them. They stay in
 * their order, also against those that are waited for, so that a handler sees what it and the handlers before it
 * have written. With a client that takes no batch, each is sent by itself.
 *
 * Only PostgreSQL: on SQLite a statement is a call in this process, and has run when it returns.
 *
 * @module
 */

import type { Write } from '../contract/transaction.ts'
import type { Connection } from './connection.ts'
import { findValueMapper, sendBatch, takesBatches } from './statement-batch.ts'

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
    const map = findValueMapper(this.#connection.client)
    // What the driver makes of bytes is the bytes themselves, and they may be changed until they are sent.
    const toSent = (value: unknown): unknown => copyOf(map === undefined ? value : map(value))
    this.#waiting.push({ text, values: values.map(toSent) })
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
    if (takesBatches(connection.client)) {
      await connection.submit((client) => sendBatch(client, writes, { wantsRows: false }))
      return
    }
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
