import { HookonceError } from '../errors.ts'

/** What a handler, a step or `fetch` ends with whose time is up. */
export class HandlerTimeoutError extends HookonceError {
  override readonly name = 'HandlerTimeoutError'

  constructor(timeoutMs: number, what = 'The handler') {
    // These two are where waiting for something outside belongs.
    const waitsOutside = what === 'fetch' || what.startsWith('step.call(')
    const advice = waitsOutside
      ? 'Hand its signal on to what it waits for, so that this ends with it; timeoutMs gives it longer'
      : 'If it waited for something outside the database, that belongs in the outbox (send) or in a step.call'
    super('HANDLER_TIMEOUT', `${what} did not end within ${timeoutMs} ms. ${advice}`, {
      retryable: true,
    })
  }
}
