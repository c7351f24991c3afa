/**
 * Writes the lines of a log, and lets nothing wait for them.
 *
 * What it promises:
 *
 * - A log that nobody reads, or a disk that is slow, holds up no delivery: lines wait in memory, up to a bound.
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
    process.once('exit', () => this.#writeRest())
  }

  /** Takes a line, with its end. */
  write(line: string): void {
    if (this.#waitingLength + line.length > WAITING_MAX) {
      this.#dropped += 1
      return
    }
    this.#waiting.push(line)
    this.#waitingLength += line.length
    if (!this.#isWriting) this.#writeWaiting()
  }

  #writeWaiting(): void {
    this.#isWriting = this.#waiting.length > 0
    if (this.#isWriting) this.#writeBytes(this.#takeWaiting())
  }

  #takeWaiting(): Buffer {
    const note = this.#dropped > 0 ? this.#describeDropped(this.#dropped) : ''
    const text = `${this.#isCut ? '\n' : ''}${note}${this.#waiting.join('')}`
    this.#dropped = 0
    this.#waiting = []
    this.#waitingLength = 0
    return Buffer.from(text)
  }

  #writeBytes(bytes: Buffer): void {
    write(this.#fd, bytes, (error, written) => {
      const rest = error === null ? bytes.subarray(written) : bytes
      if (written > 0) this.#isCut = bytes[written - 1] !== NEW_LINE
      if (error?.code === 'EAGAIN') setTimeout(() => this.#writeBytes(rest), AGAIN_MS).unref()
      else if (error === null && rest.length > 0) this.#writeBytes(rest)
      else this.#end(rest)
    })
  }

  /** Of one chunk. What could not be written is not kept: the next line shows whether there is room again. */
  #end(rest: Buffer): void {
    this.#dropped += rest.reduce((lines, byte) => lines + (byte === NEW_LINE ? 1 : 0), 0)
    if (rest.length === 0) this.#writeWaiting()
    else this.#isWriting = false
  }

  /** When the process ends there is no later. A log that cannot be written has no say in how it ends. */
  #writeRest(): void {
    try {
      if (this.#waiting.length > 0) writeSync(this.#fd, this.#takeWaiting())
    } catch {
      // There is nobody left to tell.
    }
  }
}

const NEW_LINE = 10
