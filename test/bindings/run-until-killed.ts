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
import { postgresStore } from '../../src/store/postgres/index.ts'
import type { PostgresTx } from '../../src/store/postgres/index.ts'
import { createProbedClients } from '../support/faults/probed-client.ts'
import type { Probe } from '../support/faults/probed-client.ts'
import type { ConnectionConfig } from '../support/postgres/start-postgres.ts'

export interface KilledOptions {
  readonly library: string
  readonly config: ConnectionConfig
  /** Of the COMMIT. */
  readonly phase: 'before' | 'after'
  readonly deadAfterMs: number
}

/** A library, by what it writes. */
export interface KilledLibrary<Tx> {
  readonly binding: TxBinding<PostgresTx, Tx>
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
  { config, phase, deadAfterMs }: KilledOptions,
  { binding, insert }: KilledLibrary<Tx>,
): Promise<void> {
  const { Client } = createProbedClients(killAtCommit(phase))
  const pool = new pg.Pool({ ...config, max: 10, Client })
  const silent = () => undefined
  const inbox = createInbox({
    store: postgresStore({ pool, tx: binding }),
    // It receives nothing: only the name has to be that of the test's own inbox.
    sources: { pings: hmac(SOURCE) },
    logger: { debug: silent, info: silent, warn: silent, error: silent },
    worker: { deadAfterMs },
  })
  inbox.on('pings', '*', async ({ key }, { tx }) => insert(tx, key, 'by the victim'))
  await inbox.start()
}

/** On the connection that has written the effect: the others commit as well. */
function killAtCommit(phase: KilledOptions['phase']): Probe {
  let writing: object | undefined
  return (boundary) => {
    const { text, connection } = boundary
    // Prisma names the schema too.
    if (/insert into (?:"public"\.)?"?effects/i.test(text)) writing = connection
    if (connection !== writing || boundary.phase !== phase) return undefined
    if (!/(?:^|;)\s*commit\b/i.test(text)) return undefined
    process.kill(process.pid, 'SIGKILL')
    return new Promise(() => undefined)
  }
}
