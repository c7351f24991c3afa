/**
 * A promise that a handler may leave alone. Should it be rejected, for instance because the handler's time ran out,
 * that must not end the process.
 */
export function allowUnawaited<Result>(promise: Promise<Result>): Promise<Result> {
  promise.catch(() => undefined)
  return promise
}
