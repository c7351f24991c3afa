import { createServer } from 'node:http'
import type { RequestListener, Server } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'

/** Where what is allowed listens, and where the canary does. macOS has one loopback address of IPv4. */
export const ALLOWED = '127.0.0.1'
export const FORBIDDEN = process.platform === 'linux' ? '127.0.0.2' : '::1'

export interface Pair {
  readonly port: number
  /** Connections, whether or not anything was sent over them. */
  readonly connections: { allowed: number; canary: number }
}

/** A receiver at an address that is allowed, and a canary at one that is not, on the same port. */
export async function startPair(
  answer: RequestListener = (_request, response) => response.end('ok'),
): Promise<Pair> {
  const connections = { allowed: 0, canary: 0 }
  for (let attempt = 1; ; attempt += 1) {
    const allowed = createServer(answer).on('connection', () => (connections.allowed += 1))
    const canary = createServer((_request, response) => response.end('canary')).on(
      'connection',
      () => (connections.canary += 1),
    )
    const port = await listen(allowed, ALLOWED, 0)
    try {
      await listen(canary, FORBIDDEN, port)
      onTestFinished(() => Promise.all([allowed, canary].map(close)).then(() => undefined))
      return { port, connections }
    } catch (error) {
      await close(allowed)
      if (attempt === 5) throw error
    }
  }
}

async function listen(server: Server, host: string, port: number): Promise<number> {
  server.listen(port, host)
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

async function close(server: Server): Promise<void> {
  server.closeAllConnections()
  if (!server.listening) return
  server.close()
  await once(server, 'close')
}
