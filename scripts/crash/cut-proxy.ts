import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import type { Server, Socket } from 'node:net'
import { join } from 'node:path'
import { connectRaw } from '../../test/support/postgres/connect-raw.ts'
import type { ConnectionConfig } from '../../test/support/postgres/start-postgres.ts'

/**
 * Stands between the processes and PostgreSQL, on a socket of its own, and can cut them off.
 *
 * - `silence`: connections stay open, and nothing passes in either direction, as behind a firewall that drops.
 * - `refuse`: connections are closed, and new ones as soon as they are made, as with a server that is away.
 */
export class CutProxy {
  readonly #upstream: ConnectionConfig
  readonly #dir = mkdtempSync('/tmp/hookonce-cut-')
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  #mode: 'open' | 'silent' | 'refusing' = 'open'

  constructor(upstream: ConnectionConfig) {
    this.#upstream = upstream
    this.#server = createServer((client) => this.#accept(client))
  }

  async listen(): Promise<void> {
    this.#server.listen(join(this.#dir, '.s.PGSQL.5432'))
    await once(this.#server, 'listening')
  }

  get config(): ConnectionConfig {
    return { ...this.#upstream, host: this.#dir, port: 5432 }
  }

  silence(): void {
    this.#mode = 'silent'
    for (const socket of this.#sockets) socket.pause()
  }

  refuse(): void {
    this.#mode = 'refusing'
    for (const socket of this.#sockets) socket.destroy()
  }

  open(): void {
    this.#mode = 'open'
    for (const socket of this.#sockets) socket.resume()
  }

  close(): void {
    this.#server.close()
    for (const socket of this.#sockets) socket.destroy()
    rmSync(this.#dir, { recursive: true, force: true })
  }

  #accept(client: Socket): void {
    if (this.#mode === 'refusing') return void client.destroy()
    const server = connectRaw(this.#upstream)
    this.#join(client, server)
    this.#join(server, client)
  }

  #join(from: Socket, to: Socket): void {
    this.#sockets.add(from)
    from.on('error', () => undefined)
    from.on('data', (bytes) => {
      if (!to.destroyed) to.write(bytes)
    })
    from.on('close', () => {
      this.#sockets.delete(from)
      to.destroy()
    })
    if (this.#mode === 'silent') from.pause()
  }
}
