/**
 * As many at once as there are permits, first come, first served.
 *
 * A group of handlers, a step's transaction and a write under leases each hold one database connection.
 * They share as many permits as the worker has slots, so that together they never empty the pool.
 */
export class Permits {
  readonly #waiting: (() => void)[] = []
  #free: number

  constructor(count: number) {
    this.#free = count
  }

  /** Resolves to how to give it back. */
  async take(): Promise<() => void> {
    if (this.#free > 0) this.#free -= 1
    else await new Promise<void>((resolve) => this.#waiting.push(resolve))
    let isBack = false
    return () => {
      if (isBack) return
      isBack = true
      const next = this.#waiting.shift()
      if (next === undefined) this.#free += 1
      else next()
    }
  }

  async use<Result>(work: () => Promise<Result>): Promise<Result> {
    const giveBack = await this.take()
    try {
      return await work()
    } finally {
      giveBack()
    }
  }
}
