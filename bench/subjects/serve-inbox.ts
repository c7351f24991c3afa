import { createServer } from 'node:http'
import type { RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Usage } from '../harness/child.ts'
import { hear, say } from './subject.ts'

/** The members of an inbox that are used here, whatever its store. */
interface Served {
  start(): Promise<void>
  stop(): Promise<void>
  node(source: 'stripe'): RequestListener
}

/** Starts it and serves until the parent says `stop`. */
export async function serveInbox(inbox: Served, count: () => Usage['counts']): Promise<void> {
  await inbox.start()
  const server = createServer(inbox.node('stripe'))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  say({ kind: 'listening', port: (server.address() as AddressInfo).port })
  await hear('stop', count)
  server.close()
  server.closeAllConnections()
  await inbox.stop()
}
