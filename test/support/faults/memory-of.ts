import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'

export interface Memory {
  readonly residentBytes: number
  /** The most it ever had; where the system does not remember it, what it has now. */
  readonly peakBytes: number
}

/** The memory of a process, asked from outside: one that takes too much may be too busy to say so. */
export function memoryOf(pid: number): Memory {
  const file = `/proc/${pid}/status`
  if (!existsSync(file)) {
    const kilobytes = execFileSync('ps', ['-o', 'rss=', '-p', String(pid)], { encoding: 'utf8' })
    const residentBytes = Number(kilobytes) * 1_024
    return { residentBytes, peakBytes: residentBytes }
  }
  const status = readFileSync(file, 'utf8')
  const bytesOf = (name: string) =>
    Number(new RegExp(`${name}:\\s+(\\d+) kB`).exec(status)?.[1]) * 1_024
  return { residentBytes: bytesOf('VmRSS'), peakBytes: bytesOf('VmHWM') }
}
