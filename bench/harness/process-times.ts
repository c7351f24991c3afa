/**
 * The processor time of a server that is made of many processes, from `/proc`. Where there is none, nothing is known.
 *
 * @module
 */

import { existsSync, readdirSync, readFileSync } from 'node:fs'

export interface ProcessTimes {
  readonly parentPid: number
  /** Of the process itself. */
  readonly ownUs: number
  /** Of its children that have ended. */
  readonly endedUs: number
}

/** Linux counts in hundredths of a second here, on every architecture. */
const TICK_US = 10_000

/** @param stat - the text of `/proc/<pid>/stat` */
export function parseProcessTimes(stat: string): ProcessTimes {
  // The name comes second, in parentheses, and may have spaces and parentheses in it. From the state on, which is
  // the third, all are numbers but the state.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const field = (number: number) => Number(fields[number - 3])
  return {
    parentPid: field(4),
    ownUs: (field(14) + field(15)) * TICK_US,
    endedUs: (field(16) + field(17)) * TICK_US,
  }
}

/** Of a process, its children, and those of its children that have ended. `undefined` on a system without `/proc`. */
export function readFamilyCpuUs(pid: number): number | undefined {
  for (;;) {
    const before = readProcessTimes(pid)
    if (before === undefined) return undefined
    const childrenUs = sumChildrenUs(pid)
    const after = readProcessTimes(pid)
    if (after === undefined) return undefined
    // A child that ended meanwhile would be counted twice, or not at all.
    if (before.endedUs === after.endedUs) return after.ownUs + after.endedUs + childrenUs
  }
}

function sumChildrenUs(pid: number): number {
  let sumUs = 0
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue
    const child = readProcessTimes(Number(name))
    if (child?.parentPid === pid) sumUs += child.ownUs
  }
  return sumUs
}

export function readProcessTimes(pid: number): ProcessTimes | undefined {
  const file = `/proc/${pid}/stat`
  if (!existsSync(file)) return undefined
  try {
    return parseProcessTimes(readFileSync(file, 'utf8'))
  } catch {
    // It ended between the two.
    return undefined
  }
}
