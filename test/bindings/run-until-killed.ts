/**
 * The process of `killContract`: an inbox whose handler writes one effect by a library, and that kills itself at the
 * COMMIT of it.
 *
 * @module
 */

import pg from 'pg'
import { createInbox } from '../../src/inbox/inbox.ts'
import { hmac } from '../../src/providers/hmac.ts'
import type { TxBinding } from '../../src/store/contract/tx-binding.ts'
import type { Store } from '../../src/store/contract/store.ts'
import { postgresStore } from '../../src/store/postgres/index.ts'
import type { PostgresTx } from '../../src/store/postgres/index.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import type { SqliteTx } from '../../src/store/sqlite/index.ts'
import { createProbedClients } from '../support/faults/probed-client.ts'
import type { Probe } from '../support/faults/probed-client.ts'
import { probeLibsql } from '../support/faults/probed-libsql.ts'
import type { ConnectionConfig } from '../support/postgres/start-postgres.ts'

export interface KilledOptions {
  readonly library: string
  readonly database: KilledDatabase
  /** Of the COMMIT. */
  readonly phase: 'before' | 'after'
  readonly deadAfterMs: number
}

export type KilledDatabase =
  | { readonly engine: 'postgres'; readonly config: ConnectionConfig }
  | { readonly engine: 'sqlite'; readonly file: string }

/** A library, by what it writes. A store refuses a binding that is for the other. */
export interface KilledLibrary<Tx> {
  readonly binding: TxBinding<never, Tx>
  insert(tx: Tx, key: string, note: string): Promise<unknown>
}

export function readKilledOptions(): KilledOptions {
  return JSON.parse(process.argv[2] ?? '') as KilledOptions
}

const SOURCE = {
  header: 'x-signature',
  algorithm: 'sha256',
  encoding: 'hex',
  secrets: ['a-secret-of-some-length'],
  key: 'header:x-id',
} as const

export async function runUntilKilled<Tx>(
  { database, phase, deadAfterMs }: KilledOptions,
  { binding, insert }: KilledLibrary<Tx>,
): Promise<void> {
  const silent = () => undefined
  const inbox = createInbox({
    store: openProbed(database, killAtCommit(phase), binding),
    // It receives nothing: only the name has to be that of the test's own inbox.
    sources: { pings: hmac(SOURCE) },
    logger: { debug: silent, info: silent, warn: silent, error: silent },
    worker: { deadAfterMs },
  })
  inbox.on('pings', '*', async ({ key }, { tx }) => insert(tx, key, 'by the victim'))
  await inbox.start()
}

function openProbed<Tx>(
  database: KilledDatabase,
  probe: Probe,
  tx: TxBinding<never, Tx>,
): Store<unknown, Tx> {
  if (database.engine === 'postgres') {
    const { Client } = createProbedClients(probe)
    const pool = new pg.Pool({ ...database.config, max: 10, Client })
    return postgresStore({ pool, tx: tx as TxBinding<PostgresTx, Tx> })
  }
  probeLibsql(probe)
  return sqliteStore(database.file, {
    driver: 'libsql',
    tx: tx as TxBinding<SqliteTx, Tx>,
  })
}

/** On the connection that has written the effect: the others commit as well. */
function killAtCommit(phase: KilledOptions['phase']): Probe {
  let writing: object | undefined
  return (boundary) => {
    const { text, connection } = boundary
    // Prisma names the schema too, and quotes are of three kinds.
    if (/insert into ([`"]?(?:public|main)[`"]?\.)?[`"]?effects/i.test(text)) writing = connection
    if (connection !== writing || boundary.phase !== phase) return undefined
    if (!/(?:^|;)\s*commit\b/i.test(text)) return undefined
    process.kill(process.pid, 'SIGKILL')
    return new Promise(() => undefined)
  }
}
