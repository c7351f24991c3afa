import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import type { Socket } from 'node:net'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { connectRaw } from './connect-raw.ts'
import type { ConnectionConfig } from './start-postgres.ts'

export interface WireProxy {
  readonly config: ConnectionConfig
  /** What to do with what a client sends, from now on. */
  onSent: (bytes: Buffer) => WireAction
}

/**
 * - `pass`: forward it.
 * - `drop`: cut the connection before it is forwarded.
 * - `forward-and-drop`: forward it, and cut the connection before the answer comes back.
 * - `swallow-answer`: forward it, and never deliver anything again.
 */
export type WireAction = 'pass' | 'drop' | 'forward-and-drop' | 'swallow-answer'

/** Stands between a client and the server, on a unix socket of its own. */
export async function startWireProxy(server: ConnectionConfig): Promise<WireProxy> {
  const dir = mkdtempSync('/tmp/hookonce-proxy-')
  const sockets = new Set<Socket>()
  const proxy: WireProxy = { config: { ...server, host: dir, port: 5432 }, onSent: () => 'pass' }

  const listener = createServer((client) => {
    const upstream = connectRaw(server)
    relay(client, upstream, (bytes) => proxy.onSent(bytes))
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('error', () => undefined)
    }
  })
  listener.listen(join(dir, '.s.PGSQL.5432'))
  await once(listener, 'listening')
  onTestFinished(() => {
    listener.close()
    for (const socket of sockets) socket.destroy()
    rmSync(dir, { recursive: true, force: true })
  })
  return proxy
}

function relay(client: Socket, upstream: Socket, onSent: (bytes: Buffer) => WireAction): void {
  let isSilent = false
  client.on('data', (bytes) => {
    const action = onSent(bytes)
    if (action === 'drop') {
      upstream.destroy()
      client.destroy()
      return
    }
    if (action === 'swallow-answer') isSilent = true
    upstream.write(bytes)
    if (action === 'forward-and-drop') {
      isSilent = true
      // The server has answered: it has read what was forwarded and done it.
      upstream.once('data', () => client.destroy())
    }
  })
  upstream.on('data', (bytes) => {
    if (!isSilent) client.write(bytes)
  })
  client.on('close', () => upstream.end())
  upstream.on('close', () => {
    if (!isSilent) client.end()
  })
}
