/** How long lines about the same are held back after one was written. */
const QUIET_MS = 60_000

interface Held<Line> {
  /** How many there were since the last line. */
  count: number
  latest: Line | undefined
  timer: NodeJS.Timeout
}

/**
 * Lines that would be too many: of each subject the first is written at once, and after that one a minute, with how
 * many there were since. A minute without any ends it, so that the next is written at once again.
 */
export class MinuteLines<Line> {
  readonly #write: (line: Line, count: number) => void
  readonly #held = new Map<string, Held<Line>>()

  constructor(write: (line: Line, count: number) => void) {
    this.#write = write
  }

  /** The subjects must be few: one of the configured sources, say. */
  add(subject: string, line: Line): void {
    const held = this.#held.get(subject)
    if (held !== undefined) {
      held.count += 1
      held.latest = line
      return
    }
    this.#hold(subject)
    this.#write(line, 1)
  }

  /** Writes what is held back. */
  flush(): void {
    for (const subject of [...this.#held.keys()]) this.#writeHeld(subject)
  }

  #hold(subject: string): void {
    const timer = setTimeout(() => {
      if (this.#writeHeld(subject)) this.#hold(subject)
    }, QUIET_MS).unref()
    this.#held.set(subject, { count: 0, latest: undefined, timer })
  }

  /** Says whether there was anything. */
  #writeHeld(subject: string): boolean {
    const held = this.#held.get(subject)
    this.#held.delete(subject)
    clearTimeout(held?.timer)
    if (held?.latest === undefined) return false
    this.#write(held.latest, held.count)
    return true
  }
}
