import { crowdOut } from './crowd-out.ts'
import type { CrashRun, Fault } from './crash-run.ts'
import { cutOffDatabase } from './cut-off-database.ts'
import { killProcesses } from './kill-processes.ts'
import { loseConnections } from './lose-connections.ts'
import { restartServer } from './restart-server.ts'

/** The faults by family, as `--faults` names them. Each says what it can do on the engine of the run. */
export const FAULT_FAMILIES = {
  kills: killProcesses,
  connections: loseConnections,
  restarts: restartServer,
  outages: cutOffDatabase,
  crowds: crowdOut,
} satisfies Readonly<Record<string, (run: CrashRun) => readonly Fault[]>>

export type FaultFamily = keyof typeof FAULT_FAMILIES

export const FAULT_FAMILY_NAMES = Object.keys(FAULT_FAMILIES) as readonly FaultFamily[]
