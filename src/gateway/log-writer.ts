/**
 * Writes the lines of a log, and lets nothing wait for them.
 *
 * What it promises:
 *
 * - A log that is not read, or a disk that is slow, holds up no delivery: lines wait in memory, up to a bound.
 * - A disk without room ends nothing. Lines that cannot be written are dropped and counted, and the first line that can
 *   be written again is one that says how many are missing.
 * - Written at once where it can be: a process that is killed has said what it knew.
 *
 * A writer that waits for each line was measured against it: with a reader that stands still, the first 64 KiB of lines
 * stop the whole process.
 *
 * @module
 */

import { write, writeSync } from 'node:fs'

/** How many characters wait for a log that is slow. */
const WAITING_MAX = 262_144
/** How long to wait where a pipe has no room. */
const AGAIN_MS = 50
const NEW_LINE = 10

export class LogWriter {
  readonly #fd: number
  readonly #describeDropped: (lines: number) => string
  #waiting: string[] = []
  #waitingLength = 0
  #isWriting = false
  #dropped = 0
  /** Whether what was written last ends within a line. */
  #isCut = false

  /** @param describeDropped - the line that says how many are missing */
  constructor(fd: number, describeDropped: (lines: number) => string) {
    this.#fd = fd
    this.#describeDropped = describeDropped
    process.once('exit', () => this.#writeLast())
  }

  /** Takes a line, with its end. */
  write(line: string): void {
    if (this.#waitingLength + line.length > WAITING_MAX) {
      this.#dropped += 1
      return
    }
    this.#waiting.push(line)
    this.#waitingLength += line.length
    if (!this.#isWriting) this.#writeNext()
  }

  /** What is missing is told first, and again until it could be written. */
  #writeNext(): void {
    this.#isWriting = this.#waiting.length > 0
    if (!this.#isWriting) return
    const told = this.#dropped
    if (told === 0)
      this.#writeText(this.#takeWaiting(), (rest) => (this.#dropped += countLines(rest)))
    else
      this.#writeText(this.#describeDropped(told), (rest) => {
        if (rest.length === 0) this.#dropped -= told
      })
  }

  #takeWaiting(): string {
    const text = this.#waiting.join('')
    this.#waiting = []
    this.#waitingLength = 0
    return text
  }

  #writeText(text: string, onEnd: OnEnd): void {
    this.#writeBytes(Buffer.from(this.#isCut ? `\n${text}` : text), onEnd)
  }

  #writeBytes(bytes: Buffer, onEnd: OnEnd): void {
    write(this.#fd, bytes, (error, written) => {
      if (written > 0) this.#isCut = bytes[written - 1] !== NEW_LINE
      const rest = bytes.subarray(written)
      if (error?.code === 'EAGAIN')
        setTimeout(() => this.#writeBytes(rest, onEnd), AGAIN_MS).unref()
      else if (error === null && rest.length > 0) this.#writeBytes(rest, onEnd)
      else this.#end(rest, onEnd)
    })
  }

  /** What could not be written is not kept: the next line that comes shows whether there is room again. */
  #end(rest: Buffer, onEnd: OnEnd): void {
    onEnd(rest)
    if (rest.length === 0) this.#writeNext()
    else this.#isWriting = false
  }

  /** When the process ends there is no later. A log that cannot be written has no say in how it ends. */
  #writeLast(): void {
    try {
      if (this.#waiting.length > 0) writeSync(this.#fd, this.#takeWaiting())
    } catch {
      // There is no log left to tell.
    }
  }
}

/** Is told what of it could not be written. */
type OnEnd = (rest: Buffer) => void

function countLines(bytes: Buffer): number {
  return bytes.reduce((lines, byte) => lines + (byte === NEW_LINE ? 1 : 0), 0)
}
