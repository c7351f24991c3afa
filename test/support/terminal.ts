/**
 * The command in a real terminal: `script` makes one, as it does on every Linux and Mac.
 *
 * @module
 */

import { spawn, spawnSync } from 'node:child_process'
import { onTestFinished } from 'vitest'
import { bundleCommand } from './faults/bundle-program.ts'
import { until } from './faults/until.ts'
import { cleanEnvironment, SETTINGS } from './run-cli.ts'

const IS_BSD = process.platform === 'darwin'

/** Where CI runs, a terminal that is missing is an error, and no reason to leave a test out. */
export const hasNoTerminal =
  process.env['CI'] === undefined &&
  spawnSync('script', ['-q', '/dev/null', '-c', 'true']).error !== undefined

if (hasNoTerminal)
  console.warn('The keys of hookonce dev are NOT tested: there is no `script` (util-linux)')

export interface TerminalProcess {
  /** What is on the screen, without what only a terminal understands. */
  screen(): string
  /** Everything that was written to it. */
  raw(): string
  press(keys: string): void
  /** Until the screen shows this after what was looked for before. */
  untilShown(text: string, limits?: { readonly limitMs: number }): Promise<void>
  readonly gone: Promise<void>
}

/** Runs it below a shell, which says when it is over how it ended and how the terminal was left. */
export function startInTerminal(
  args: readonly string[],
  {
    folder,
    preload,
    columns,
    program,
  }: {
    readonly folder: string
    readonly preload?: string
    readonly columns?: number
    /** Left out, the command. */
    readonly program?: readonly string[]
  },
): TerminalProcess {
  const imports = preload === undefined ? [] : ['--import', preload]
  const command = [...(program ?? [process.execPath, ...imports, bundleCommand()]), ...args]
  const size = columns === undefined ? '' : `stty columns ${columns} && `
  const line = `${size}${command.map(quoted).join(' ')}; echo "ended with $?"; stty -a`
  const script = IS_BSD
    ? ['-q', '/dev/null', 'sh', '-c', line]
    : ['--quiet', '--flush', '--command', line, '/dev/null']
  const child = spawn('script', script, {
    cwd: folder,
    env: { ...cleanEnvironment(), ...SETTINGS, SHELL: '/bin/sh' },
    stdio: ['pipe', 'pipe', 'ignore'],
  })
  let raw = ''
  let shown = 0
  child.stdout.on('data', (chunk: Buffer) => (raw += chunk.toString()))
  onTestFinished(() => void child.kill('SIGKILL'))
  const screen = (): string => raw.replace(SEQUENCES, '').replaceAll('\r', '')
  return {
    screen,
    raw: () => raw,
    press: (keys) => void child.stdin.write(keys),
    untilShown: async (text, limits) => {
      const isShown = (): boolean => {
        if (child.exitCode !== null && !screen().includes(text, shown))
          throw new Error(`It ended without: ${text}\n${screen()}`)
        return screen().includes(text, shown)
      }
      await until(`the screen shows ${text}`, isShown, limits)
      shown = screen().indexOf(text, shown) + text.length
    },
    gone: new Promise((resolve) => child.once('close', () => resolve())),
  }
}

/** Colours, and what is put on the clipboard. */
const SEQUENCES = /\x1b(?:\[[0-9;?]*[A-Za-z]|\][^\x07]*\x07)/g

function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`
}
