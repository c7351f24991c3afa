import { fork } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { onTestFinished } from 'vitest'
import { bundleProgram } from './bundle-program.ts'
import type { FromGuard, GuardConfig, ToGuard } from './guard-messages.ts'
import { until } from './until.ts'

/** A process with a guard, gone when the running test ends. */
export class GuardSubject {
  readonly heard: FromGuard[] = []
  readonly #process: ChildProcess
  readonly #gone: Promise<unknown>
  #errors = ''

  private constructor() {
    this.#process = fork(bundleProgram('guard-process'), [], {
      execArgv: [],
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
      env: { ...process.env, NODE_OPTIONS: '' },
    })
    this.#process.stderr?.on('data', (chunk: Buffer) => (this.#errors += chunk.toString()))
    this.#process.on('message', (message: FromGuard) => this.heard.push(message))
    this.#gone = new Promise((resolve) => this.#process.once('exit', resolve))
    onTestFinished(() => this.kill())
  }

  static async start(config: GuardConfig): Promise<GuardSubject> {
    const subject = new GuardSubject()
    await subject.untilSaid('loaded')
    subject.#tell({ do: 'start', config })
    await subject.untilSaid('started')
    return subject
  }

  run(name: string, key: string, { times = 1, isHeld = false } = {}): void {
    this.#tell({ do: 'run', name, key, times, isHeld })
  }

  finish(name: string): void {
    this.#tell({ do: 'finish', name })
  }

  /** The same, by throwing. */
  fail(name: string): void {
    this.#tell({ do: 'fail', name })
  }

  /** What became of the calls under this name, once there are so many. */
  async outcomes(name: string, count = 1): Promise<readonly Outcome[]> {
    const listed = (): readonly Outcome[] =>
      this.heard.flatMap((message): readonly Outcome[] => {
        if (message.said === 'threw' && message.name === name)
          return [{ status: 'threw', error: message.error }]
        return message.said === 'outcome' && message.name === name ? [message.outcome] : []
      })
    await until(
      `${count} calls of ${name} have ended: ${this.#errors}`,
      () => listed().length >= count,
    )
    return listed()
  }

  async untilSaid(said: FromGuard['said']): Promise<void> {
    await until(`the process says ${said}: ${this.#errors}`, () =>
      this.heard.some((message) => message.said === said),
    )
  }

  signal(signal: NodeJS.Signals): void {
    this.#process.kill(signal)
  }

  async kill(): Promise<void> {
    this.#process.kill('SIGKILL')
    await this.#gone
  }

  #tell(message: ToGuard): void {
    if (this.#process.connected) this.#process.send(message)
  }
}

type Outcome =
  | Extract<FromGuard, { said: 'outcome' }>['outcome']
  | { readonly status: 'threw'; readonly error: string }
