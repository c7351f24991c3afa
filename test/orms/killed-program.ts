/**
 * A worker that ends itself, as SIGKILL does it, before the COMMIT of its handler's effect is sent, or after it was
 * answered: `killed-program.ts <subject> <before|after> <configuration of the pool>`.
 *
 * @module
 */

import pg from 'pg'
import { createInbox } from '../../src/inbox/inbox.ts'
import { hmac } from '../../src/providers/hmac.ts'
import type { TxBinding } from '../../src/store/contract/tx-binding.ts'
import { postgresStore } from '../../src/store/postgres/index.ts'
import type { PostgresTx } from '../../src/store/postgres/index.ts'
import { createProbedClients } from '../support/faults/probed-client.ts'
import { PING_OPTIONS } from '../support/inbox-under-test.ts'
import type { ConnectionConfig } from '../support/postgres/start-postgres.ts'

interface Subject {
  createBinding(config: ConnectionConfig): TxBinding<PostgresTx, unknown>
  insert(tx: unknown, key: string, note: string): Promise<void>
}

const [name, point, config] = process.argv.slice(2) as [string, 'before' | 'after', string]
const { createBinding, insert } = (await import(`./${name}-subject.ts`)) as Subject

let hasWritten = false
const { Client } = createProbedClients(({ text, phase }) => {
  if (hasWritten && phase === point && /\bcommit\b/i.test(text))
    process.kill(process.pid, 'SIGKILL')
  return undefined
})
const database = JSON.parse(config) as ConnectionConfig
const pool = new pg.Pool({ ...database, max: 8, Client })
const inbox = createInbox({
  store: postgresStore({ pool, tx: createBinding(database) }),
  sources: { pings: hmac({ ...PING_OPTIONS, sameBytes: 'run' }) },
  worker: { pollMs: 50, concurrency: 1 },
})
inbox.on('pings', '*', async ({ key }, { tx }) => {
  await insert(tx, key, 'paid')
  hasWritten = true
})
await inbox.start()
