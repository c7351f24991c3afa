/**
 * How handlers are told to end: one by its time-out, all of them by a worker that is stopped for good.
 *
 * @module
 */

/** Tells running handlers that the worker is stopped for good. */
export class Interruption {
  readonly #listeners = new Set<() => void>()
  #isInterrupted = false

  /** Calls back at the interruption, also when it was before; returns how to stop listening. */
  onInterrupt(listener: () => void): () => void {
    if (this.#isInterrupted) queueMicrotask(listener)
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  /** Waits for so long, or until the interruption. */
  async pause(pauseMs: number): Promise<void> {
    if (this.#isInterrupted) return
    await new Promise<void>((resolve) => {
      const end = () => {
        clearTimeout(timer)
        stopListening()
        resolve()
      }
      const timer = setTimeout(end, pauseMs)
      const stopListening = this.onInterrupt(end)
    })
  }

  interrupt(): void {
    this.#isInterrupted = true
    for (const listener of [...this.#listeners]) listener()
  }
}

export class InterruptedError extends Error {
  override readonly name = 'InterruptedError'

  constructor() {
    super('The worker was stopped before the handler had ended')
  }
}

/** An abort signal that costs nothing until a handler asks for it. */
export class Abortion {
  #controller: AbortController | undefined
  #reason: Error | undefined

  get signal(): AbortSignal {
    this.#controller ??= new AbortController()
    if (this.#reason !== undefined) this.#controller.abort(this.#reason)
    return this.#controller.signal
  }

  abort(reason: Error): void {
    this.#reason = reason
    this.#controller?.abort(reason)
  }
}
