/**
 * Child processes under test: a receiver or a worker, led by messages.
 *
 * Nothing here waits for a time: a test waits until a child says that it has reached a point, until
 * something happened in it, or until it is gone.
 *
 * @module
 */

import { fork } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { bundleProgram } from './bundle-program.ts'
import { TRAP } from './subject-messages.ts'
import type { FromSubject, SubjectConfig, ToSubject, Trap } from './subject-messages.ts'

export type SubjectKind =
  'receiver' | 'worker' | 'invocation' | 'relay' | 'bulk' | 'pruner' | 'reconciler'

export interface SpawnOptions {
  /** Options of Node itself, such as `--max-old-space-size=64`. */
  readonly nodeOptions?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
}

export class Subject {
  readonly process: ChildProcess
  /** Resolves when the process is gone. */
  readonly gone: Promise<{ code: number | null; signal: NodeJS.Signals | null }>
  /** Resolves when all that it wrote has been read as well. */
  readonly closed: Promise<void>
  /** What it wrote to its standard error. */
  errors = ''
  #port: number | undefined
  readonly #heard: FromSubject[] = []
  readonly #listeners = new Set<() => void>()
  #hasStarted = false
  #isGone = false

  constructor(kind: SubjectKind, { nodeOptions = [], env }: SpawnOptions = {}) {
    this.process = fork(bundleProgram(`${kind}-process`), [], {
      execArgv: [...nodeOptions],
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
      env: { ...process.env, NODE_OPTIONS: '', ...env },
    })
    this.process.stderr?.on('data', (chunk: Buffer) => (this.errors += chunk.toString()))
    this.process.on('message', (message: FromSubject) => {
      this.#heard.push(message)
      for (const listener of [...this.#listeners]) listener()
    })
    this.closed = new Promise((resolve) => this.process.once('close', () => resolve()))
    this.gone = new Promise((resolve) =>
      this.process.once('exit', (code, signal) => {
        this.#isGone = true
        for (const listener of [...this.#listeners]) listener()
        resolve({ code, signal })
      }),
    )
  }

  /** Whether it has started and is not gone. */
  get isStarted(): boolean {
    return this.#hasStarted && !this.#isGone
  }

  /** What it could not do, in its own words. */
  get failure(): string | undefined {
    const failed = this.#heard.find(({ said }) => said === 'failed')
    return failed?.said === 'failed' ? failed.error : undefined
  }

  get url(): string {
    if (this.#port === undefined) throw new Error('It does not listen')
    return `http://127.0.0.1:${this.#port}`
  }

  /** Starts it without waiting until it has started, for one that may not live that long. */
  async begin(config: SubjectConfig): Promise<this> {
    await this.#until(({ said }) => said === 'loaded')
    this.#tell({ do: 'start', config })
    return this
  }

  async start(config: SubjectConfig): Promise<this> {
    await this.begin(config)
    return this.untilStarted()
  }

  async untilStarted(): Promise<this> {
    const started = await this.#until(({ said }) => said === 'started')
    this.#port = started.said === 'started' ? started.port : undefined
    this.#hasStarted = true
    return this
  }

  async arm(trap: Trap): Promise<void> {
    this.#tell({ do: 'arm', trap })
    await this.#until(({ said }) => said === 'armed')
  }

  async forget(eventId: string): Promise<void> {
    this.#tell({ do: 'forget', eventId })
    await this.#until(({ said }) => said === 'forgotten')
  }

  /** Until a handler's `reach` step, or the trap, is waiting. */
  async untilReached(point: string = TRAP): Promise<void> {
    await this.#until((message) => message.said === 'reached' && message.point === point)
  }

  goOn(point: string = TRAP): void {
    this.#tell({ do: 'go-on', point })
  }

  /** Until something happened in it, to the event with this key if one is given. */
  async untilHappened(name: string, key?: string): Promise<void> {
    await this.#until(
      (message) =>
        message.said === 'happened' &&
        message.name === name &&
        (key === undefined || message.key === key),
    )
  }

  countHappened(name: string): number {
    return this.#heard.filter((message) => message.said === 'happened' && message.name === name)
      .length
  }

  signal(signal: NodeJS.Signals): void {
    this.process.kill(signal)
  }

  async kill(): Promise<void> {
    this.process.kill('SIGKILL')
    await this.gone
  }

  #tell(message: ToSubject): void {
    if (this.process.connected) this.process.send(message)
  }

  #until(matches: (message: FromSubject) => boolean): Promise<FromSubject> {
    return new Promise((resolve, reject) => {
      const look = (): void => {
        const found = this.#heard.find(matches)
        const { failure } = this
        if (found !== undefined) end(() => resolve(found))
        else if (failure !== undefined)
          end(() => reject(new Error(`The process failed: ${failure}`)))
        else if (this.#isGone) end(() => reject(new SubjectGoneError(this.errors)))
      }
      const end = (settle: () => void): void => {
        this.#listeners.delete(look)
        settle()
      }
      this.#listeners.add(look)
      look()
    })
  }
}

/** The process ended before it did what was waited for. */
export class SubjectGoneError extends Error {
  override readonly name = 'SubjectGoneError'

  constructor(errors: string) {
    super(`The process is gone. It wrote: ${errors.slice(-2_000)}`)
  }
}

/** Children loaded ahead of their use. */
export class SubjectPool {
  readonly #kind: SubjectKind
  readonly #ready: Subject[] = []
  readonly #all = new Set<Subject>()

  constructor(kind: SubjectKind, size: number) {
    this.#kind = kind
    for (let i = 0; i < size; i += 1) this.#ready.push(this.#spawn())
  }

  take(): Subject {
    this.#ready.push(this.#spawn())
    return this.#ready.shift() as Subject
  }

  async close(): Promise<void> {
    await Promise.all([...this.#all].map((subject) => subject.kill()))
  }

  #spawn(): Subject {
    const subject = new Subject(this.#kind)
    this.#all.add(subject)
    void subject.gone.then(() => this.#all.delete(subject))
    return subject
  }
}
