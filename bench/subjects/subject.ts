/**
 * The child's side of `harness/child.ts`.
 *
 * @module
 */

import type { SubjectMessage } from '../harness/child.ts'

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

/** Resolves when the parent says `go` or `stop`. */
export async function hear(word: 'go' | 'stop'): Promise<void> {
  await new Promise<void>((resolve) => {
    const listen = (message: unknown) => {
      if (message !== word) return
      process.off('message', listen)
      resolve()
    }
    process.on('message', listen)
  })
}

/**
 * A peer is loaded by name and described by the few members used here, so that the types of this
 * project can be checked without the peers installed.
 */
export async function importPeer<Peer>(name: string): Promise<Peer> {
  return (await import(name)) as Peer
}
