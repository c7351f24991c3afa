import { statSync } from 'node:fs'
import { StoreUnavailableError } from '../../errors.ts'

/**
 * Remembers which file a path stood for.
 *
 * A file that is deleted or replaced under an open connection goes on taking commits, which nobody
 * will ever see again. Nothing in SQLite notices, so the path is looked at before every answer. The
 * look is synchronous: it costs some microseconds, and the way through the thread pool many times that.
 */
export class FileIdentity {
  readonly #file: string
  readonly #first: string
  #moved = false

  private constructor(file: string, first: string) {
    this.#file = file
    this.#first = first
  }

  static of(file: string): FileIdentity {
    const first = identify(file)
    if (first === undefined) throw movedError(file)
    return new FileIdentity(file, first)
  }

  /** Looks, and throws if the path stands for another file now. From then on `assert` throws as well. */
  check(): void {
    this.#moved ||= identify(this.#file) !== this.#first
    this.assert()
  }

  /** Throws if an earlier look found another file. */
  assert(): void {
    if (this.#moved) throw movedError(this.#file)
  }
}

function identify(file: string): string | undefined {
  try {
    const { dev, ino } = statSync(file, { bigint: true })
    return `${dev}:${ino}`
  } catch {
    return undefined
  }
}

function movedError(file: string): StoreUnavailableError {
  return new StoreUnavailableError(
    `The database file ${file} was moved, deleted or replaced while it was open. Restart to use what is there now.`,
  )
}
