/**
 * A process that lives for one request, as a function of a cloud does: the Fetch handler answers it, and the process is
 * killed as soon as the answer has left.
 *
 * @module
 */

import pg from 'pg'
import { createInbox } from '../../../src/inbox/inbox.ts'
import type { Store } from '../../../src/store/contract/store.ts'
import { postgresStore } from '../../../src/store/postgres/index.ts'
import { sqliteStore } from '../../../src/store/sqlite/index.ts'
import { createFaultSources } from './fault-sources.ts'
import type { StoreConfig } from './subject-messages.ts'

/** A request, as far as it can be said from process to process. */
export interface FetchOrder {
  readonly store: StoreConfig
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

async function main({ store, url, headers, body }: FetchOrder): Promise<void> {
  const inbox = createInbox({ store: open(store), sources: createFaultSources(), logger: SILENT })
  // It is deployed with its handlers, and has no time to run them.
  inbox.on('partner', '*', () => {
    throw new Error('Nothing runs in the process that answers')
  })
  const response = await inbox.fetch('partner')(
    new Request(url, { method: 'POST', headers, body: Buffer.from(body, 'base64') }),
  )
  const { status } = response
  const answer = (await response.json()) as { status: string }
  process.send?.({ status, outcome: answer.status }, () => process.kill(process.pid, 'SIGKILL'))
}

function open(config: StoreConfig): Store<unknown> {
  if (config.engine === 'sqlite') return sqliteStore(config.file, { driver: 'libsql' })
  return postgresStore({ pool: new pg.Pool({ ...config.connection, max: 3 }) })
}

process.once('message', (order: FetchOrder) => {
  main(order).catch((error: unknown) => {
    console.error(error)
    process.exit(1)
  })
})

/** It would say that it was not started, which is so on purpose. */
const SILENT = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
}
