/**
 * A Vitest that stays for many runs, in a process of its own (`vitest-process.ts`). A run that hangs ends with that
 * process, and the next one starts another.
 *
 * Measured on two cores with other work: eleven entries took 141 s, and 520 s with a Vitest and a PostgreSQL for each.
 *
 * @module
 */

import { fork } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

export interface RunRequest {
  /** Files, from the root. */
  readonly tests: readonly string[]
  /** A pattern for the names of tests. */
  readonly named?: string | undefined
  /** The file that was changed since the last run, from the root. */
  readonly changed?: string | undefined
  /** What a test may take that has no limit of its own; left out, as the config says. */
  readonly testLimitMs?: number | undefined
}

export interface RunReport {
  readonly passed: number
  readonly failed: readonly { readonly name: string; readonly messages: readonly string[] }[]
  /** What went wrong outside of tests. */
  readonly errors: readonly string[]
}

/** Between two tests that begin or end. The longest entry took half of that, with all of its runs. */
const SILENCE_MS = 300_000

export class WarmVitest {
  readonly #root: string
  readonly #config: string | undefined
  #process: ChildProcess | undefined
  #output = ''

  constructor(root: string, config: string | undefined) {
    this.#root = root
    this.#config = config
  }

  /** What the tests did, or what was printed last where the process ended, or `hung`. */
  async run(request: RunRequest): Promise<RunReport | { readonly ended: string } | 'hung'> {
    const child = (this.#process ??= this.#start())
    child.send(request)
    const heard = await this.#untilReport(child)
    if (heard === 'hung' || 'ended' in heard) this.#kill()
    return heard
  }

  async close(): Promise<void> {
    const child = this.#process
    this.#process = undefined
    if (child?.connected !== true) return
    const exited = once(child, 'exit')
    child.disconnect()
    await exited
  }

  #start(): ChildProcess {
    const file = fileURLToPath(new URL('./vitest-process.ts', import.meta.url))
    const args = [this.#root, ...(this.#config === undefined ? [] : [this.#config])]
    const child = fork(file, args, {
      cwd: this.#root,
      execArgv: ['--import', 'tsx'],
      env: { ...process.env, HOOKONCE_TESTS: 'all' },
      // A process group of its own, so that its workers can be killed with it.
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    })
    this.#output = ''
    const keep = (chunk: Buffer) => (this.#output = (this.#output + chunk.toString()).slice(-2_000))
    child.stdout?.on('data', keep)
    child.stderr?.on('data', keep)
    return child
  }

  #kill(): void {
    const pid = this.#process?.pid
    this.#process = undefined
    if (pid === undefined) return
    try {
      process.kill(-pid, 'SIGKILL')
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
    }
  }

  async #untilReport(
    child: ChildProcess,
  ): Promise<RunReport | { readonly ended: string } | 'hung'> {
    return new Promise((resolve) => {
      const settle = (heard: RunReport | { readonly ended: string } | 'hung') => {
        clearTimeout(silence)
        child.removeAllListeners('message')
        child.removeAllListeners('exit')
        resolve(heard)
      }
      const silence = setTimeout(() => settle('hung'), SILENCE_MS)
      child.on('message', (message) => {
        silence.refresh()
        if (message !== 'alive') settle(message as RunReport)
      })
      child.on('exit', () => settle({ ended: this.#output }))
    })
  }
}
