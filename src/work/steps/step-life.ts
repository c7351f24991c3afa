/**
 * How long the steps of a run may go on, and what becomes of those that the handler does not await.
 *
 * @module
 */

import { HookonceError } from '../../errors.ts'
import { Abortion } from '../../flow/interruption.ts'
import { HandlerTimeoutError } from '../handler-timeout-error.ts'
import { LeaseLostError } from './step-errors.ts'

export class StepLife {
  readonly #abortion = new Abortion()
  readonly #outstanding = new Set<Promise<unknown>>()
  readonly #begun = new Set<StepPromise<unknown>>()
  readonly #onAbort = new Set<(error: Error) => void>()
  #ended: Error | undefined

  get signal(): AbortSignal {
    return this.#abortion.signal
  }

  get hasEnded(): boolean {
    return this.#ended !== undefined
  }

  /** Nothing that is still running may do anything more. */
  abort(error: Error): void {
    this.#ended ??= error
    this.#abortion.abort(error)
    for (const listener of [...this.#onAbort]) listener(error)
  }

  /** Calls back when it is aborted, also when it was before; returns how to stop listening. */
  onAbort(listener: (error: Error) => void): () => void {
    if (this.#ended !== undefined) listener(this.#ended)
    this.#onAbort.add(listener)
    return () => void this.#onAbort.delete(listener)
  }

  lose(): LeaseLostError {
    const error = new LeaseLostError()
    this.abort(error)
    return error
  }

  requireLive(): void {
    if (this.#ended !== undefined) throw this.#ended
  }

  /** The promise of a step as the handler gets it. */
  track<Result>(running: Promise<Result>): Promise<Result> {
    const step = new StepPromise<Result>((resolve, reject) => {
      running.then(resolve, reject)
    })
    const watched = running.then(
      () => this.#begun.delete(step),
      (error: unknown) => {
        step.failure = { error }
      },
    )
    this.#begun.add(step)
    this.#outstanding.add(watched)
    void watched.finally(() => this.#outstanding.delete(watched))
    return step
  }

  /** Waits for steps that the handler did not wait for, and fails if one of them has. */
  async finish(): Promise<void> {
    while (this.#outstanding.size > 0) await Promise.all(this.#outstanding)
    for (const { failure, isAwaited } of this.#begun) {
      if (failure !== undefined && !isAwaited) throw failure.error
    }
    this.#ended ??= new HookonceError(
      'TX_REVOKED',
      'The handler has returned, and its steps with it. Is an await missing?',
    )
  }

  /**
   * Fails when the time is up or the run is aborted, whatever the work does then. The signal that it has tells it so: a
   * step may run out of its own time, and the handler goes on.
   */
  async withTimeout<Result>(
    work: (own: Pick<Abortion, 'signal'>) => Promise<Result>,
    timeoutMs: number | undefined,
    what: string,
  ): Promise<Result> {
    const own = new Abortion()
    let timer: NodeJS.Timeout | undefined
    let stopListening: (() => void) | undefined
    const overdue = new Promise<never>((_, reject) => {
      const end = (error: Error) => {
        // First, so that work which ends at its signal has failed all the same.
        reject(error)
        own.abort(error)
      }
      stopListening = this.onAbort(end)
      if (timeoutMs === undefined) return
      timer = setTimeout(() => end(new HandlerTimeoutError(timeoutMs, what)), timeoutMs)
    })
    const running = work(own)
    try {
      return await Promise.race([running, overdue])
    } finally {
      clearTimeout(timer)
      stopListening?.()
      running.catch(() => undefined)
    }
  }
}

/**
 * Knows whether the handler awaits it. If it does, a step that fails is the handler's business: the handler may
 * catch the error and go on. If it does not, the attempt fails with the step.
 */
class StepPromise<Result> extends Promise<Result> {
  isAwaited = false
  failure: { readonly error: unknown } | undefined

  static override get [Symbol.species](): PromiseConstructor {
    return Promise
  }

  constructor(
    start: (resolve: (value: Result) => void, reject: (reason: unknown) => void) => void,
  ) {
    super(start)
    // A step that fails without being awaited must not end the process.
    super.then(undefined, () => undefined)
  }

  override then<Fulfilled = Result, Rejected = never>(
    onFulfilled?: ((value: Result) => Fulfilled | PromiseLike<Fulfilled>) | null,
    onRejected?: ((reason: unknown) => Rejected | PromiseLike<Rejected>) | null,
  ): Promise<Fulfilled | Rejected> {
    this.isAwaited = true
    return super.then(onFulfilled, onRejected)
  }
}
