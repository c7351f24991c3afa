/**
 * Stands between `pg` and PostgreSQL, reads the messages that pass, and makes trouble at the one it
 * was told to wait for, or to every connection at once.
 *
 * It listens on a unix socket named as PostgreSQL would name its own, so that a client is pointed at
 * it by its folder.
 *
 * @module
 */

import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import type { Server, Socket } from 'node:net'
import { join } from 'node:path'
import { connectRaw } from './connect-raw.ts'
import type { ConnectionConfig } from './start-postgres.ts'
import {
  BackendSplitter,
  FrontendSplitter,
  READY_BYTES,
  READY_FOR_QUERY,
  TERMINATED,
  textOf,
} from './wire-messages.ts'

/**
 * - `drop-before`: the connection is closed and the server never sees the message.
 * - `drop-after`: the server sees it and answers; the client gets a closed connection instead.
 * - `black-hole`: the server sees it and answers; the client hears nothing more, on an open connection.
 * - `late-ready`: the server's answer arrives, and a moment later the word that it is ready again.
 */
export type WireFault = 'drop-before' | 'drop-after' | 'black-hole' | 'late-ready'

export interface WireRule {
  /** Of the text of a Query or Parse message. */
  readonly matches: RegExp
  readonly fault: WireFault
}

export interface ArmedRule {
  /** Resolves when the fault has happened; for `drop-after` and `black-hole`, when the server has answered. */
  readonly fired: Promise<void>
  /** Whether the message has come. */
  hasCome(): boolean
}

interface ActiveRule extends WireRule {
  readonly onFired: () => void
}

type UrlParts = ConnectionConfig & { readonly password?: string }

export class WireProxy {
  readonly #upstream: ConnectionConfig
  readonly #dir = mkdtempSync('/tmp/hookonce-wire-')
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  #rules: ActiveRule[] = []
  #isSilent = false
  #isOff = false
  #isFrozen = false
  #endings = 0
  /** How many connections were ever made through it. */
  connections = 0

  constructor(upstream: ConnectionConfig) {
    this.#upstream = upstream
    this.#server = createServer((client) => this.#accept(client))
  }

  static async start(upstream: ConnectionConfig): Promise<WireProxy> {
    const proxy = new WireProxy(upstream)
    await proxy.listen()
    return proxy
  }

  /** Of one that was made and not started, until then: there is no server at its address. */
  async listen(): Promise<void> {
    await new Promise<void>((resolve) =>
      this.#server.listen(join(this.#dir, '.s.PGSQL.5432'), resolve),
    )
  }

  get config(): ConnectionConfig {
    return { ...this.#upstream, host: this.#dir, port: 5432 }
  }

  /** The same as a URL. */
  get url(): string {
    const { user, password = '', database } = this.#upstream as UrlParts
    return `postgres://${user}:${password}@localhost/${database}?host=${this.#dir}`
  }

  /** Arms a fault for the next message that matches. It fires once. */
  arm(rule: WireRule): ArmedRule {
    let onFired: () => void = () => undefined
    const fired = new Promise<void>((resolve) => (onFired = resolve))
    const active = { ...rule, onFired }
    this.#rules.push(active)
    return { fired, hasCome: () => !this.#rules.includes(active) }
  }

  /** From now on no client hears anything, on old connections and on new ones. */
  silence(): void {
    this.#isSilent = true
  }

  /** New connections hear everything again. The old ones have missed something, and are closed. */
  speak(): void {
    this.#isSilent = false
    this.cut()
  }

  /** Closes every connection that is open now. New ones are taken. */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy()
  }

  /** Closes every connection, and takes no new ones until `restore`. */
  cutOff(): void {
    this.#isOff = true
    this.cut()
  }

  /** What is sent either way, on old connections and on new ones, arrives when `restore` is called. */
  freeze(): void {
    this.#isFrozen = true
    for (const socket of this.#sockets) socket.pause()
  }

  restore(): void {
    this.#isOff = false
    this.#isFrozen = false
    for (const socket of this.#sockets) socket.resume()
  }

  /**
   * The next so many connections are ended as soon as they are made: the word that they are ready and the
   * word that an administrator has terminated them arrive in one piece.
   */
  endFresh(count: number): void {
    this.#endings = count
  }

  /** How many are still to be ended. */
  get endings(): number {
    return this.#endings
  }

  async close(): Promise<void> {
    this.cut()
    await new Promise<void>((resolve) => this.#server.close(() => resolve()))
    rmSync(this.#dir, { recursive: true, force: true })
  }

  #accept(client: Socket): void {
    if (this.#isOff) return void client.destroy()
    this.connections += 1
    const server = connectRaw(this.#upstream)
    const pair = new Pair(client, server)
    if (this.#endings > 0) {
      this.#endings -= 1
      pair.endsWhenReady = true
    }
    for (const socket of [client, server]) {
      this.#sockets.add(socket)
      socket.on('error', () => undefined)
      socket.on('close', () => {
        this.#sockets.delete(socket)
        pair.onClosed(socket)
      })
    }
    server.on('data', (chunk: Buffer) => {
      if (!this.#isSilent) pair.fromServer(chunk)
    })
    const splitter = new FrontendSplitter()
    client.on('data', (chunk: Buffer) => {
      for (const message of splitter.push(chunk)) this.#forward(pair, message)
    })
    if (this.#isFrozen) for (const socket of [client, server]) socket.pause()
  }

  #forward(pair: Pair, message: Buffer): void {
    const text = textOf(message)
    const rule =
      text === undefined ? undefined : this.#rules.find(({ matches }) => matches.test(text))
    if (rule === undefined) return pair.toServer(message)
    this.#rules = this.#rules.filter((other) => other !== rule)
    switch (rule.fault) {
      case 'drop-before':
        pair.destroy()
        return rule.onFired()
      case 'drop-after':
        pair.onAnswer = () => {
          pair.destroy()
          rule.onFired()
        }
        return pair.toServer(message)
      case 'black-hole':
        pair.onAnswer = () => rule.onFired()
        return pair.toServer(message)
      case 'late-ready':
        pair.isReadyLate = true
        rule.onFired()
        return pair.toServer(message)
    }
  }
}

/** One client's connection and the one made to the server for it. */
class Pair {
  /** Set when the server's answers are no longer passed on: called at its next ReadyForQuery. */
  onAnswer: (() => void) | undefined
  /** Whether the next ReadyForQuery is kept back for a moment. */
  isReadyLate = false
  /** Whether the next ReadyForQuery comes with the end of the session. */
  endsWhenReady = false
  readonly #client: Socket
  readonly #server: Socket
  readonly #answers = new BackendSplitter()

  constructor(client: Socket, server: Socket) {
    this.#client = client
    this.#server = server
  }

  toServer(message: Buffer): void {
    if (!this.#server.destroyed) this.#server.write(message)
  }

  fromServer(chunk: Buffer): void {
    if (this.endsWhenReady) {
      if (chunk.at(-READY_BYTES) !== READY_FOR_QUERY) return this.#toClient(chunk)
      this.#toClient(Buffer.concat([chunk, TERMINATED]))
      this.#client.end()
    } else if (this.onAnswer === undefined) {
      if (this.isReadyLate && chunk.at(-READY_BYTES) === READY_FOR_QUERY) this.#passOnLate(chunk)
      else this.#toClient(chunk)
      this.#answers.push(chunk)
    } else if (this.#answers.push(chunk)) {
      this.onAnswer()
    }
  }

  /** Long enough for the client that waits for the answer to have gone on; right or wrong does not depend on it. */
  #passOnLate(chunk: Buffer): void {
    this.isReadyLate = false
    this.#toClient(chunk.subarray(0, -READY_BYTES))
    setTimeout(() => this.#toClient(chunk.subarray(-READY_BYTES)), 50)
  }

  #toClient(chunk: Buffer): void {
    if (!this.#client.destroyed) this.#client.write(chunk)
  }

  onClosed(socket: Socket): void {
    if (socket === this.#client) this.#server.destroy()
    // A connection that went silent stays silent, also when the server ends it.
    else if (this.onAnswer === undefined) this.#client.destroy()
  }

  destroy(): void {
    this.#client.destroy()
    // The server finishes what it was sent; destroying the socket at once could cut the message off.
    this.#server.end()
  }
}
