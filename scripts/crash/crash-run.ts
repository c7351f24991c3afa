/**
 * What the parts of a crash run share.
 *
 * @module
 */

import type { ScriptedEvent } from '../../test/support/faults/fault-sources.ts'
import type { Fleet } from '../../test/support/faults/fleet.ts'
import type { FaultDatabase } from '../../test/support/faults/make-database.ts'
import type { Random } from '../../test/support/faults/random.ts'
import type { PostgresServer } from '../../test/support/postgres/start-postgres.ts'
import type { WireProxy } from '../../test/support/postgres/wire-proxy.ts'

export interface CrashRun {
  readonly database: FaultDatabase
  /** On PostgreSQL: the server, and what stands between it and the processes. */
  readonly postgres: { readonly server: PostgresServer; readonly proxy: WireProxy } | undefined
  readonly fleet: Fleet
  readonly random: Random
  /** Whatever was sent, answered or not. */
  readonly sent: Map<string, SentEvent>
  /** What was answered 200, and so must take effect once. */
  readonly acknowledged: Map<string, SentEvent>
  /** How often each fault was injected. */
  readonly faults: Map<string, number>
  /** Whether the senders are to stop. */
  isOver: boolean
}

export interface SentEvent extends ScriptedEvent {
  readonly source: 'partner' | 'rival'
  /** The keys of the effects it has when it is done. */
  readonly effects: readonly string[]
}

export interface Fault {
  readonly name: string
  /** How often it comes, compared with the others. */
  readonly weight: number
  /** Says which promise was broken, where it saw that. */
  readonly inject: (run: CrashRun) => Promise<string | undefined>
}

/** How long the heart of a worker may stand still. Longer than a busy machine makes a living one wait. */
export const DEAD_AFTER_MS = 3_000

export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
