/**
 * A subject runs in a process of its own, so that its garbage, its timers and its version of Node are
 * its own. The two sides speak in messages over the channel of `fork`.
 *
 * @module
 */

import { fork } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { BENCH_DIR, COMPILED_DIR } from './folders.ts'

export type Runtime = 'ours' | 'newest'

/** What a subject says, in this order; which of them depends on the kind of subject. */
export type SubjectMessage =
  | { readonly kind: 'listening'; readonly port: number }
  | { readonly kind: 'filled' }
  | { readonly kind: 'finished'; readonly seconds: number; readonly notes: Notes }
  | { readonly kind: 'failed'; readonly error: string }

/** What a subject counted beside its rate, such as errors that surfaced. */
export type Notes = Readonly<Record<string, number | string>>

export class Subject {
  readonly #child: ChildProcess
  readonly #messages: SubjectMessage[] = []
  #wake: (() => void) | undefined

  constructor(script: string, config: object, runtime: Runtime) {
    this.#child = fork(
      join(COMPILED_DIR, 'bench', 'subjects', `${script}.js`),
      [JSON.stringify(config)],
      {
        execPath: runtime === 'ours' ? process.execPath : findNewestNode(),
        execArgv: (process.env['BENCH_NODE_ARGS'] ?? '').split(' ').filter((arg) => arg !== ''),
        stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      },
    )
    this.#child.on('message', (message) => this.#take(message as SubjectMessage))
    this.#child.on('exit', (code) => {
      if (code !== 0)
        this.#take({ kind: 'failed', error: `${script} ended with ${code ?? 'a signal'}` })
    })
  }

  async next<Kind extends SubjectMessage['kind']>(
    kind: Kind,
  ): Promise<Extract<SubjectMessage, { kind: Kind }>> {
    for (;;) {
      const message = this.#messages.shift()
      if (message?.kind === kind) return message as Extract<SubjectMessage, { kind: Kind }>
      if (message?.kind === 'failed') throw new Error(message.error)
      if (message === undefined) await new Promise<void>((resolve) => (this.#wake = resolve))
    }
  }

  go(): void {
    this.#child.send('go')
  }

  /** Asks it to close what it has open, and waits for its end. */
  async stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return
    const ended = once(this.#child, 'exit')
    // It may be on its way out already, and then the channel is closed.
    if (this.#child.connected) this.#child.send('stop', () => {})
    const impatience = setTimeout(() => this.#child.kill('SIGKILL'), 20_000)
    await ended
    clearTimeout(impatience)
  }

  #take(message: SubjectMessage): void {
    this.#messages.push(message)
    this.#wake?.()
  }
}

/** The newest peers ask for a newer Node than ours; npm has its binaries as packages. */
export function findNewestNode(): string {
  const binary = join(
    BENCH_DIR,
    'node_modules',
    `node-${process.platform}-${process.arch}`,
    'bin',
    'node',
  )
  if (!existsSync(binary))
    throw new Error(`bench/node_modules has no Node for ${process.platform}-${process.arch}`)
  return binary
}
