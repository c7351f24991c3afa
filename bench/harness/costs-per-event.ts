import type { Figures } from './measurement.ts'

/** What a number of events took. What could not be read is `undefined`. */
export interface Spent {
  readonly events: number
  /** Of the process that works. */
  readonly ownCpuUs: number
  readonly database?: DatabaseSpent | undefined
}

export interface DatabaseSpent {
  readonly cpuUs: number | undefined
  readonly logBytes: number | undefined
  readonly commits: number | undefined
  readonly flushes: { readonly count: number; readonly events: number } | undefined
}

/** The costs of one event, without those that could not be read. */
export function costsPerEvent({ events, ownCpuUs, database }: Spent): Figures {
  const { cpuUs, logBytes, commits, flushes } = database ?? {}
  return {
    'own µs/event': ownCpuUs / events,
    ...(cpuUs !== undefined && { 'database µs/event': cpuUs / events }),
    ...(logBytes !== undefined && { 'log bytes/event': logBytes / events }),
    ...(commits !== undefined && { 'commits/event': commits / events }),
    ...(flushes !== undefined && { 'flushes/event': flushes.count / flushes.events }),
  }
}
