/**
 * Where idle slots wait.
 *
 * One of them, the scout, waits with a limit and then looks for work by itself; the others sleep until
 * they are called. A slot that finds work calls one more, so that a lone event costs one extra look and a
 * flood has every slot running within a few claims.
 *
 * @module
 */

export class WakeUp {
  readonly #sleepers: (() => void)[] = []
  #scoutIsWaiting = false
  #calls = 0
  #isClosed = false

  /** Resolves when called, when closed, or for the scout after `scoutMs`. */
  async wait(scoutMs: () => Promise<number>): Promise<void> {
    if (this.#takeCall()) return
    if (this.#scoutIsWaiting) return this.#sleep(undefined)
    this.#scoutIsWaiting = true
    try {
      const limitMs = await scoutMs()
      // A call may have come while the limit was being found out.
      if (!this.#takeCall()) await this.#sleep(limitMs)
    } finally {
      this.#scoutIsWaiting = false
    }
  }

  /** Wakes one that waits, or lets the next one not wait at all. */
  call(): void {
    const sleeper = this.#sleepers.pop()
    if (sleeper !== undefined) sleeper()
    else this.#calls = 1
  }

  /** Wakes all slots, for good. */
  close(): void {
    this.#isClosed = true
    for (const sleeper of this.#sleepers.splice(0)) sleeper()
  }

  #takeCall(): boolean {
    if (this.#isClosed) return true
    if (this.#calls === 0) return false
    this.#calls = 0
    return true
  }

  #sleep(limitMs: number | undefined): Promise<void> {
    return new Promise((resolve) => {
      let timer: NodeJS.Timeout | undefined
      const wake = () => {
        clearTimeout(timer)
        resolve()
      }
      if (limitMs !== undefined) {
        timer = setTimeout(() => {
          const index = this.#sleepers.indexOf(wake)
          if (index !== -1) this.#sleepers.splice(index, 1)
          resolve()
        }, limitMs)
      }
      this.#sleepers.push(wake)
    })
  }
}
