/**
 * Hears of other processes' work through LISTEN, on a connection of its own.
 *
 * Best effort, and workers always poll as well: no error is thrown, and a lost connection is made again. That nothing is
 * heard is told, once for each change. A transaction pooler takes LISTEN and hands nothing on, without a word, so what
 * counts is a word of our own that was sent on another connection and came back.
 *
 * Only PostgreSQL: SQLite cannot tell another process of anything.
 *
 * @module
 */

import { randomUUID } from 'node:crypto'
import { asError } from '../../errors.ts'
import type { Hearing } from '../contract/queue.ts'
import { quoteName } from '../shared/quote-name.ts'
import type { Connection } from './connection.ts'
import type { Connections } from './connections.ts'
import { lockNumber } from './lock-number.ts'

const PAUSE_MS = 1_000
const PAUSE_MAX_MS = 30_000
/** How long a word of our own may take. Longer than a busy server needs, and nothing waits for it. */
const ECHO_MS = 5_000
/** Begins the word by which a listener asks whether it hears anything. Others need not wake for it. */
const ECHO = 'echo '

type OnHearing = (hearing: Hearing) => void

/** Those of one store. */
export class Listeners {
  /** The same in every process that uses the schema. */
  readonly #channel: string
  readonly #connections: Connections
  readonly #open = new Set<Listener>()

  constructor(schema: string, connections: Connections) {
    this.#channel = `hookonce_${lockNumber(schema, 'wake')}`
    this.#connections = connections
  }

  /** Returns how to stop. */
  async listen(wake: () => void, onHearing?: OnHearing): Promise<() => Promise<void>> {
    const listener = new Listener({
      connect: () => this.#connections.checkOut(),
      channel: this.#channel,
      notify: (word) => this.notify(word),
      wake,
      onHearing,
    })
    this.#open.add(listener)
    await listener.start()
    return async () => {
      this.#open.delete(listener)
      await listener.stop()
    }
  }

  /** Tells all that listen, in every process. Never inside a transaction of others: it takes a lock. */
  async notify(word = ''): Promise<void> {
    await this.#connections.useMade((connection) =>
      connection.query('select pg_notify($1, $2)', [this.#channel, word]),
    )
  }

  async close(): Promise<void> {
    await Promise.all([...this.#open].map((listener) => listener.stop()))
    this.#open.clear()
  }
}

/** As the driver tells it. */
interface Heard {
  readonly payload?: string
}

interface ListenerParts {
  readonly connect: () => Promise<Connection>
  readonly channel: string
  readonly notify: (word: string) => Promise<void>
  readonly wake: () => void
  readonly onHearing: OnHearing | undefined
}

class Listener {
  readonly #parts: ListenerParts
  #connection: Connection | undefined
  #connecting: Promise<void> = Promise.resolve()
  #asking: Promise<void> = Promise.resolve()
  #timer: NodeJS.Timeout | undefined
  #echoTimer: NodeJS.Timeout | undefined
  /** What was said on another connection, to be heard here. */
  #awaited: string | undefined
  #failures = 0
  #isStopped = false
  /** As it was told last; before it was, all is well. */
  #isUp = true

  constructor(parts: ListenerParts) {
    this.#parts = parts
  }

  async start(): Promise<void> {
    this.#connecting = this.#open()
    await this.#connecting
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    clearTimeout(this.#timer)
    clearTimeout(this.#echoTimer)
    await Promise.all([this.#connecting, this.#asking])
    // Destroyed and not returned: the next user of the client must not be listening.
    this.#connection?.destroy()
    this.#connection = undefined
  }

  async #open(): Promise<void> {
    const { connect, channel, wake } = this.#parts
    let connection: Connection | undefined
    try {
      connection = await connect()
      this.#connection = connection
      connection.client.on('notification', (heard: Heard) => this.#hear(heard))
      const opened = connection
      opened.client.on('end', () => this.#reopen(opened, new Error('The connection was lost')))
      await connection.run(`listen ${quoteName(channel)}`)
      // For what happened while the connection was gone.
      wake()
      this.#asking = this.#askForEcho()
    } catch (error) {
      // Lost while LISTEN was under way, its end has been heard before this, and is one loss, not two.
      this.#reopen(connection, asError(error))
    }
  }

  /** LISTEN was answered. Whether anything will be heard is another question. */
  async #askForEcho(): Promise<void> {
    const word = `${ECHO}${randomUUID()}`
    this.#awaited = word
    // A pool without a free connection says nothing about the one that listens.
    const isSaid = await this.#parts.notify(word).then(
      () => true,
      () => false,
    )
    if (this.#awaited !== word || this.#isStopped) return
    const onLate = (): void => {
      if (this.#awaited !== word) return
      if (!isSaid) this.#asking = this.#askForEcho()
      else this.#tell({ isUp: false, error: new Error('Nothing is heard, as behind a pooler') })
    }
    // What has arrived while the event loop was blocked is read before an immediate.
    this.#echoTimer = setTimeout(() => setImmediate(onLate), ECHO_MS)
    this.#echoTimer.unref()
  }

  #hear({ payload = '' }: Heard): void {
    if (!payload.startsWith(ECHO)) return this.#parts.wake()
    if (payload !== this.#awaited) return
    this.#awaited = undefined
    clearTimeout(this.#echoTimer)
    this.#failures = 0
    this.#tell({ isUp: true })
  }

  #tell(hearing: Hearing): void {
    if (this.#isStopped || hearing.isUp === this.#isUp) return
    this.#isUp = hearing.isUp
    this.#parts.onHearing?.(hearing)
  }

  #reopen(lost: Connection | undefined, error: Error): void {
    if (this.#isStopped || lost !== this.#connection) return
    this.#tell({ isUp: false, error })
    this.#awaited = undefined
    clearTimeout(this.#echoTimer)
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
