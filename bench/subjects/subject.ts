/**
 * The child's side of `harness/child.ts`.
 *
 * @module
 */

import type { SubjectMessage, Usage } from '../harness/child.ts'

/** Runs the subject, and tells the parent if it cannot. */
export function runSubject<Config>(run: (config: Config) => Promise<void>): void {
  run(JSON.parse(process.argv[2] ?? '{}') as Config).then(
    () => process.disconnect?.(),
    (error: unknown) => {
      say({
        kind: 'failed',
        error: error instanceof Error ? (error.stack ?? error.message) : String(error),
      })
      process.exitCode = 1
      process.disconnect?.()
    },
  )
}

export function say(message: SubjectMessage): void {
  process.send?.(message)
}

/** From now until what it returns is called: the time that passed, and how busy this process was. */
export function startClock(): () => { seconds: number; cpuUs: number } {
  const startedAt = performance.now()
  const before = process.cpuUsage()
  return () => {
    const { user, system } = process.cpuUsage(before)
    return { seconds: (performance.now() - startedAt) / 1_000, cpuUs: user + system }
  }
}

/** Resolves when the parent says `go` or `stop`; until then it is told what was used, whenever it asks. */
export async function hear(
  word: 'go' | 'stop',
  count: () => Usage['counts'] = () => ({}),
): Promise<void> {
  await new Promise<void>((resolve) => {
    const listen = (message: unknown) => {
      if (message === 'usage') say({ kind: 'usage', ...readUsage(), counts: count() })
      if (message !== word) return
      process.off('message', listen)
      resolve()
    }
    process.on('message', listen)
  })
}

function readUsage(): Omit<Usage, 'counts'> {
  const { user, system } = process.cpuUsage()
  return { cpuUs: user + system, memoryBytes: process.memoryUsage.rss() }
}

/**
 * A peer is loaded by name and described by the few members used here, so that the types of this
 * project can be checked without the peers installed.
 */
export async function importPeer<Peer>(name: string): Promise<Peer> {
  return (await import(name)) as Peer
}
