import { createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import { connectRaw } from './connect-raw.ts'
import type { ConnectionConfig } from './start-postgres.ts'

export interface TcpDoor {
  /** As every library takes it: few know how to write a socket's folder in a URL, and none as another does. */
  readonly url: string
  close(): Promise<void>
}

/** A port on which the server of the tests answers, which has a socket alone. */
export async function listenOnTcp(upstream: ConnectionConfig): Promise<TcpDoor> {
  const sockets = new Set<Socket>()
  const server = createServer((client) => {
    const behind = connectRaw(upstream)
    for (const [one, other] of [
      [client, behind],
      [behind, client],
    ] as const) {
      sockets.add(one)
      one.pipe(other)
      one.on('error', () => other.destroy()).once('close', () => other.destroy())
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const { user, password = '', database } = upstream
  const url = new URL(`postgres://127.0.0.1:${port}/${database}`)
  url.username = encodeURIComponent(user)
  url.password = encodeURIComponent(password)
  return {
    url: url.href,
    close: async () => {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
