/**
 * What a command sees of the place it was started in. Commands print and ask through it and never through `process`, so
 * that a test can read what they say and answer what they ask.
 *
 * @module
 */

import { createInterface } from 'node:readline/promises'
import { cutText } from './output/display-width.ts'

export interface Shell {
  /** What relative paths begin at. */
  readonly folder: string
  readonly environment: Readonly<Record<string, string | undefined>>
  /** How wide a line may be; `Infinity` where the output is a file or another program. */
  readonly columns: number
  /** Whether the output is a terminal, which bytes can steer. */
  readonly isTerminal: boolean
  /** Whether a person is there to see progress and to answer. */
  readonly isInteractive: boolean
  readonly hasColour: boolean
  /** Ends what goes on until it is told to stop: Ctrl-C. */
  readonly interrupted: AbortSignal
  /** Lines on the standard output. What is a stranger's must have been escaped. */
  print(text: string): void
  /** Lines for people, beside the output. */
  printError(text: string): void
  /** Bytes on the standard output, as they are. */
  write(bytes: Uint8Array): void
  /** A line that the next one takes the place of; an empty one takes it away. */
  showProgress(line: string): void
  ask(question: string): Promise<string>
  /** How the process ends. The last call counts. */
  endWith(code: number): void
}

/** The shell of this process. */
export function processShell(): Shell {
  const { stdin, stdout, stderr, env } = process
  let interruption: AbortController | undefined
  return {
    folder: process.cwd(),
    environment: env,
    // A terminal that was not told its size has 0.
    columns: stdout.columns || readColumns(env['COLUMNS']),
    isTerminal: stdout.isTTY,
    isInteractive: stdin.isTTY && stdout.isTTY,
    hasColour: stdout.isTTY && (env['NO_COLOR'] ?? '') === '' && env['TERM'] !== 'dumb',
    // Listened for when a command asks for it: a listener keeps Ctrl-C from ending any other. A second Ctrl-C, of a
    // person who cannot wait, meets no listener.
    get interrupted() {
      if (interruption === undefined) {
        const controller = new AbortController()
        interruption = controller
        process.once('SIGINT', () => controller.abort())
      }
      return interruption.signal
    },
    print: (text) => void stdout.write(`${text}\n`),
    printError: (text) => void stderr.write(`${text}\n`),
    write: (bytes) => void stdout.write(bytes),
    // Of a line that is longer than the terminal only the last row could be taken away.
    showProgress: (line) =>
      void stderr.write(`\r\u001b[2K${cutText(line, (stderr.columns || Infinity) - 1)}`),
    ask: async (question) => {
      const prompt = createInterface({ input: stdin, output: stderr })
      try {
        return await prompt.question(question)
      } finally {
        prompt.close()
      }
    },
    endWith: (code) => {
      process.exitCode = code
    },
  }
}

/**
 * Ends the process when what reads its output has gone, as `hookonce events list | head` does when it has seen enough.
 * That is no failure. Without this each line that follows would end the process with a stack trace.
 */
export function endWithReader(): void {
  for (const stream of [process.stdout, process.stderr])
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EPIPE') process.exit()
      throw error
    })
}

function readColumns(text: string | undefined): number {
  return text !== undefined && /^[1-9]\d{0,4}$/.test(text) ? Number(text) : Infinity
}
