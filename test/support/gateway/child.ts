/**
 * A process of ours that a run kills and starts again.
 *
 * @module
 */

import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'

const LOADER = import.meta.resolve('tsx')

export class Child {
  readonly #process: ChildProcess
  readonly gone: Promise<void>
  #output = ''

  /** `file` is TypeScript, or what was built from it. */
  constructor(file: string, args: readonly string[], folder: string) {
    const loader = file.endsWith('.ts') ? ['--import', LOADER] : []
    this.#process = spawn(process.execPath, [...loader, file, ...args], {
      cwd: folder,
      // Gateways that run side by side have admin listeners of their own.
      env: { ...process.env, NODE_OPTIONS: '', HOOKONCE_ADMIN__PORT: '0' },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const keep = (chunk: Buffer): void => {
      this.#output += chunk.toString()
    }
    this.#process.stdout?.on('data', keep)
    this.#process.stderr?.on('data', keep)
    this.gone = new Promise((resolve) => this.#process.once('close', () => resolve()))
  }

  get output(): string {
    return this.#output
  }

  get hasEnded(): boolean {
    return this.#process.exitCode !== null || this.#process.signalCode !== null
  }

  /** `null` while it runs, and where a signal ended it. */
  get exitCode(): number | null {
    return this.#process.exitCode
  }

  /** What it writes until the text is there; rejects when it ends before that. */
  async untilWritten(text: string | RegExp): Promise<string> {
    const isThere = (): boolean =>
      typeof text === 'string' ? this.#output.includes(text) : text.test(this.#output)
    while (!isThere()) {
      if (this.hasEnded) throw new Error(`It ended without ${String(text)}: ${this.#output}`)
      await Promise.race([
        this.gone,
        new Promise((resolve) => this.#process.stdout?.once('data', resolve)),
      ])
    }
    return this.#output
  }

  async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    if (!this.hasEnded) this.#process.kill(signal)
    await this.gone
  }
}
