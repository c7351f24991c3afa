/**
 * The command, as a process.
 *
 * @module
 */

import { spawn } from 'node:child_process'
import { onTestFinished } from 'vitest'
import { bundleCommand } from './faults/bundle-program.ts'
import { until } from './faults/until.ts'

export interface CliProcess {
  readonly pid: number
  /** What it has written so far. */
  output(): string
  errors(): string
  /** The lines of its log, each an object. */
  lines(): readonly Record<string, unknown>[]
  /** The first line of its log with this message. */
  untilLine(message: string): Promise<Record<string, unknown>>
  /** Until it has written this, on its output or among its errors. */
  untilText(text: string): Promise<void>
  kill(signal: NodeJS.Signals): void
  /** Reads nothing more of what it writes, or goes on. */
  stopReading(): void
  goOnReading(): void
  /** How it ended. */
  readonly gone: Promise<{ readonly code: number | null; readonly signal: NodeJS.Signals | null }>
}

export interface StartCliOptions {
  readonly folder: string
  readonly env?: Record<string, string>
  /** The file that its output goes to, instead of to us. */
  readonly log?: string
  /** What reads its output: we, or a program that has ended by then. */
  readonly reader?: 'we' | 'gone'
}

/** Of every command of a test, where it does not say otherwise. */
export const SETTINGS = {
  // Gateways that run side by side have admin listeners of their own.
  HOOKONCE_ADMIN__PORT: '0',
  // No delivery is answered 503 because the machine is busy.
  HOOKONCE_RECEIVE__ANSWER_TIMEOUT_MS: '30000',
}

/** Starts it, and kills it at the end of the test. */
export function startCli(
  args: readonly string[],
  { folder, env = {}, log, reader = 'we' }: StartCliOptions,
): CliProcess {
  const command = [process.execPath, bundleCommand(), ...args]
  const shell = ['sh', '-c', 'file=$1; shift; exec "$@" > "$file"', 'sh', log ?? '']
  const [file = '', ...words] = log === undefined ? command : [...shell, ...command]
  const child = spawn(file, words, {
    cwd: folder,
    env: { ...cleanEnvironment(), ...SETTINGS, ...env },
  })
  if (reader === 'gone') child.stdout.destroy()
  let output = ''
  let errors = ''
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()))
  child.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString()))
  onTestFinished(() => void child.kill('SIGKILL'))
  const lines = (): readonly Record<string, unknown>[] =>
    output
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as Record<string, unknown>)
  const find = (message: string) => lines().find(({ msg }) => msg === message)
  return {
    pid: child.pid ?? 0,
    output: () => output,
    errors: () => errors,
    lines,
    untilLine: async (message) => {
      await until(`it says ${message}`, () => {
        if (child.exitCode !== null && find(message) === undefined)
          throw new Error(`It ended without: ${message}\n${output}${errors}`)
        return find(message) !== undefined
      })
      return find(message) as Record<string, unknown>
    },
    untilText: (text) =>
      until(`it writes ${text}`, () => {
        if (child.exitCode !== null && !(output + errors).includes(text))
          throw new Error(`It ended without: ${text}\n${output}${errors}`)
        return (output + errors).includes(text)
      }),
    kill: (signal) => void child.kill(signal),
    stopReading: () => void child.stdout.pause(),
    goOnReading: () => void child.stdout.resume(),
    gone: new Promise((resolve) =>
      child.once('close', (code, signal) => resolve({ code, signal })),
    ),
  }
}

/**
 * `hookonce trigger`, again with the id that it is given where it gave up before the handler had run, as it does after ten
 * seconds: it is the same event. What it said in the end, and how often it was run.
 */
export async function triggerUntilRan(
  args: readonly string[],
  options: StartCliOptions,
): Promise<{ readonly code: number | null; readonly output: string; readonly runs: number }> {
  if (!args.includes('--id')) throw new Error('Without --id it would be another event each time')
  for (let runs = 1; ; runs += 1) {
    const cli = startCli(['trigger', ...args], options)
    const { code } = await cli.gone
    if (!cli.output().includes('handler ran 0 times')) return { code, output: cli.output(), runs }
  }
}

/** Ours without what a run of tests is told by `HOOKONCE_…`: the command would read it as a part of its config. */
export function cleanEnvironment(): NodeJS.ProcessEnv {
  const others = Object.entries(process.env).filter(([name]) => !name.startsWith('HOOKONCE_'))
  return { ...Object.fromEntries(others), NODE_OPTIONS: '' }
}
