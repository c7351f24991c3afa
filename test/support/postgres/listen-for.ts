import { createServer } from 'node:net'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { connectRaw } from './connect-raw.ts'
import type { ConnectionConfig } from './start-postgres.ts'

/** The URL of a database behind a socket in this folder, where nothing listens yet. */
export function urlBehind(folder: string, config: ConnectionConfig): string {
  const { user, password = '', database } = config as ConnectionConfig & { password?: string }
  return `postgres://${user}:${password}@localhost/${database}?host=${folder}`
}

/** Lets the database be reached there. */
export async function listenFor(folder: string, config: ConnectionConfig): Promise<void> {
  const server = createServer((client) => {
    const upstream = connectRaw(config)
    for (const socket of [client, upstream]) socket.on('error', () => undefined)
    client.pipe(upstream).pipe(client)
  })
  await new Promise<void>((resolve) => server.listen(join(folder, '.s.PGSQL.5432'), resolve))
  onTestFinished(() => void server.close())
}
