/**
 * Hears of other processes' work through LISTEN, on a connection of its own.
 *
 * Best effort: a transaction pooler eats LISTEN without a word, so that workers always poll as well.
 * A lost connection is made again, and no error is thrown for it.
 *
 * Only PostgreSQL: SQLite cannot tell another process of anything.
 *
 * @module
 */

import { quoteName } from '../shared/quote-name.ts'
import type { Connection } from './connection.ts'
import { lockNumber } from './lock-number.ts'

const PAUSE_MS = 1_000
const PAUSE_MAX_MS = 30_000

/** Those of one store. */
export class Listeners {
  /** The same in every process that uses the schema. */
  readonly channel: string
  readonly #connect: () => Promise<Connection>
  readonly #open = new Set<Listener>()

  constructor(schema: string, connect: () => Promise<Connection>) {
    this.channel = `hookonce_${lockNumber(schema, 'wake')}`
    this.#connect = connect
  }

  /** Returns how to stop. */
  async listen(wake: () => void): Promise<() => Promise<void>> {
    const listener = new Listener(this.#connect, this.channel, wake)
    this.#open.add(listener)
    await listener.start()
    return async () => {
      this.#open.delete(listener)
      await listener.stop()
    }
  }

  async close(): Promise<void> {
    await Promise.all([...this.#open].map((listener) => listener.stop()))
    this.#open.clear()
  }
}

class Listener {
  readonly #connect: () => Promise<Connection>
  readonly #channel: string
  readonly #wake: () => void
  #connection: Connection | undefined
  #connecting: Promise<void> = Promise.resolve()
  #timer: NodeJS.Timeout | undefined
  #failures = 0
  #isStopped = false

  constructor(connect: () => Promise<Connection>, channel: string, wake: () => void) {
    this.#connect = connect
    this.#channel = channel
    this.#wake = wake
  }

  async start(): Promise<void> {
    this.#connecting = this.#open()
    await this.#connecting
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    clearTimeout(this.#timer)
    await this.#connecting
    // Destroyed and not returned: the next user of the client must not be listening.
    this.#connection?.destroy()
    this.#connection = undefined
  }

  async #open(): Promise<void> {
    let connection: Connection | undefined
    try {
      connection = await this.#connect()
      this.#connection = connection
      connection.client.on('notification', this.#wake)
      const opened = connection
      opened.client.on('end', () => this.#reopen(opened))
      await connection.run(`listen ${quoteName(this.#channel)}`)
      this.#failures = 0
      // For what happened while the connection was gone.
      this.#wake()
    } catch {
      // Lost while LISTEN was under way, its end has been heard before this, and is one loss, not two.
      this.#reopen(connection)
    }
  }

  #reopen(lost: Connection | undefined): void {
    if (this.#isStopped || lost !== this.#connection) return
    this.#connection = undefined
    lost?.destroy()
    const pauseMs = Math.min(PAUSE_MS * 2 ** this.#failures, PAUSE_MAX_MS)
    this.#failures += 1
    this.#timer = setTimeout(() => {
      this.#connecting = this.#open()
    }, pauseMs)
    this.#timer.unref()
  }
}
