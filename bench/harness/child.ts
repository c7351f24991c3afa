/**
 * A subject runs in a process of its own, so that its garbage, its timers and its version of Node are
 * its own. The two sides speak in messages over the channel of `fork`.
 *
 * @module
 */

import { execFileSync, fork } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { BENCH_DIR, COMPILED_DIR } from './folders.ts'

/** `ours` runs the bench itself, `newer` has SQLite built in, `newest` is what the peers ask for. */
export type Runtime = 'ours' | 'newer' | 'newest'

/** Where `start.ts` says which Node is `newer`. */
export const NEWER_NODE = 'HOOKONCE_BENCH_NEWER_NODE'

/** What a subject says, in this order; which of them depends on the kind of subject. */
export type SubjectMessage =
  | { readonly kind: 'listening'; readonly port: number }
  | { readonly kind: 'filled' }
  | {
      readonly kind: 'finished'
      readonly seconds: number
      readonly cpuUs: number
      readonly notes: Notes
    }
  | ({ readonly kind: 'usage' } & Usage)
  | { readonly kind: 'failed'; readonly error: string }

/** What a subject counted beside its rate, such as errors that surfaced. */
export type Notes = Readonly<Record<string, number | string>>

/** What a process has used since its start. */
export interface Usage {
  readonly cpuUs: number
  readonly memoryBytes: number
  /** What only the subject can count. */
  readonly counts: Readonly<Record<string, number>>
}

export class Subject {
  readonly #child: ChildProcess
  readonly #messages: SubjectMessage[] = []
  #wake: (() => void) | undefined

  /** @param build - the folder with the compiled code, for one that was changed first */
  constructor(script: string, config: object, runtime: Runtime, build = COMPILED_DIR) {
    this.#child = fork(join(build, 'bench', 'subjects', `${script}.js`), [JSON.stringify(config)], {
      execPath: findNode(runtime),
      execArgv: (process.env['BENCH_NODE_ARGS'] ?? '').split(' ').filter((arg) => arg !== ''),
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    })
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

  /** Asks one that waits for `stop` what it has used so far. */
  async usage(): Promise<Usage> {
    this.#child.send('usage')
    return this.next('usage')
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

function findNode(runtime: Runtime): string {
  if (runtime === 'ours') return process.execPath
  return runtime === 'newest' ? findNewestNode() : (findNewerNode() ?? process.execPath)
}

/** Its major version. */
export function nodeVersionOf(runtime: Runtime): string {
  return readNodeVersion(findNode(runtime)).split('.')[0] ?? ''
}

export function readNodeVersion(binary: string): string {
  return execFileSync(binary, ['--version'], { encoding: 'utf8' }).trim().slice(1)
}

/** `undefined` where npm had none for us, or this one is as new. */
export function findNewerNode(): string | undefined {
  return process.env[NEWER_NODE]
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
