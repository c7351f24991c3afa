import { StoreUnavailableError } from '../errors.ts'

/** Whoever waits for the store. */
export interface Waiting {
  /** On the clock of `performance.now()`. */
  readonly expiresAt: number
  readonly reject: (error: Error) => void
}

/**
 * The sender's patience is the limit, whatever the database does. What is on its way may still arrive.
 *
 * All wait equally long, so that whoever came first has to be told first, and one timer serves them all.
 */
export class Patience {
  readonly ms: number
  readonly #waiting = new Set<Waiting>()
  #timer: NodeJS.Timeout | undefined

  constructor(ms: number) {
    this.ms = ms
  }

  begin(waiting: Waiting): void {
    this.#waiting.add(waiting)
    if (this.#timer === undefined) this.#watch(waiting)
  }

  end(waiting: Waiting): void {
    this.#waiting.delete(waiting)
    if (this.#waiting.size > 0) return
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  #watch({ expiresAt }: Waiting): void {
    this.#timer = setTimeout(() => this.#giveUp(), Math.max(1, expiresAt - performance.now()))
  }

  #giveUp(): void {
    this.#timer = undefined
    const now = performance.now()
    for (const waiting of this.#waiting) {
      if (waiting.expiresAt > now) return this.#watch(waiting)
      this.#waiting.delete(waiting)
      waiting.reject(new StoreUnavailableError(`The store did not answer within ${this.ms} ms`))
    }
  }
}
