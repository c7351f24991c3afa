import { OptionInvalidError } from '../errors.ts'
import { rejectUnknownKeys } from '../options/reject-unknown-keys.ts'
import { HOUR_MS, requireInteger } from '../options/require-integer.ts'

/** What is admitted, and how long a delivery waits. */
export interface ReceiveOptions {
  /**
   * The largest body that is read, where a source says nothing else: providers that send larger ones
   * have a default of their own, and every source takes `bodyBytesMax`. A larger body is answered 413
   * and its socket closed.
   *
   * @defaultValue 1_048_576
   */
  readonly bodyBytesMax?: number
  /**
   * The most bytes that bodies may take together, from their first byte until their sender is
   * answered: all sources, all adapters that read the body themselves. Past it the answer is 503 with
   * `Retry-After`, before anything is read. Without such a limit 4,096 senders that stop one byte short
   * of a mebibyte take 4 GiB. The default is a quarter of a small machine of 512 MiB, and room for five
   * of the largest deliveries of GitHub at once.
   *
   * @defaultValue 134_217_728
   */
  readonly inFlightBytesMax?: number
  /**
   * The most events of one delivery. One that carries more is kept whole, as one event that is `quarantined`, and none
   * of them runs: what is stored and run for a request must have an end that follows from its size.
   *
   * @defaultValue 10_000
   */
  readonly eventsMax?: number
  /**
   * How long a sender may take to send its body before it is answered 408.
   *
   * @defaultValue 15_000
   */
  readonly bodyTimeoutMs?: number
  /**
   * How long a sender waits for an answer at most. Past it the answer is 503, and whatever is still
   * on its way to the database may or may not arrive: the sender's next delivery finds out.
   *
   * @defaultValue 5_000
   */
  readonly answerTimeoutMs?: number
  /**
   * How long `acknowledge: 'processed'` waits for the handlers. Past it the answer is 503; the event is kept.
   *
   * @defaultValue 20_000
   */
  readonly processedTimeoutMs?: number
  /**
   * The most events stored in one transaction.
   *
   * @defaultValue 200
   */
  readonly batchMax?: number
  /**
   * The most deliveries that wait for the database. Past it the answer is 503 at once: a queue that
   * grows without bound only turns a slow database into a process out of memory.
   *
   * @defaultValue 5_000
   */
  readonly waitingMax?: number
  /**
   * How many committed keys are remembered at most, and half of them at least, to answer a storm of duplicates without the database.
   * 0 turns it off.
   *
   * @defaultValue 50_000
   */
  readonly rememberMax?: number
}

export type ResolvedReceiveOptions = Readonly<Required<ReceiveOptions>>

export const RECEIVE_DEFAULTS: ResolvedReceiveOptions = Object.freeze({
  bodyBytesMax: 1_048_576,
  inFlightBytesMax: 134_217_728,
  eventsMax: 10_000,
  bodyTimeoutMs: 15_000,
  answerTimeoutMs: 5_000,
  processedTimeoutMs: 20_000,
  batchMax: 200,
  waitingMax: 5_000,
  rememberMax: 50_000,
})

/** Past it one body is more than a process should hold. */
const BODY_BYTES_MAX = 134_217_728

/** @throws OptionInvalidError when the largest body of a source would never find room */
export function requireRoom(
  sources: Iterable<readonly [name: string, source: { readonly bodyBytesMax?: number }]>,
  { bodyBytesMax, inFlightBytesMax }: ResolvedReceiveOptions,
): void {
  for (const [name, source] of sources) {
    const largest = source.bodyBytesMax ?? bodyBytesMax
    if (largest <= inFlightBytesMax) continue
    throw new OptionInvalidError(
      'receive.inFlightBytesMax',
      `at least ${largest}, which is the largest body of the source ${name}`,
      inFlightBytesMax,
    )
  }
}

export function resolveReceiveOptions(options: ReceiveOptions): ResolvedReceiveOptions {
  rejectUnknownKeys('receive', options, Object.keys(RECEIVE_DEFAULTS))
  const resolved = Object.freeze({ ...RECEIVE_DEFAULTS, ...options })
  requireInteger('receive.bodyBytesMax', resolved.bodyBytesMax, { min: 1, max: BODY_BYTES_MAX })
  requireInteger('receive.inFlightBytesMax', resolved.inFlightBytesMax, { min: 1 })
  requireInteger('receive.eventsMax', resolved.eventsMax, { min: 1, max: 100_000 })
  requireInteger('receive.bodyTimeoutMs', resolved.bodyTimeoutMs, { min: 1, max: HOUR_MS })
  requireInteger('receive.answerTimeoutMs', resolved.answerTimeoutMs, { min: 1, max: HOUR_MS })
  requireInteger('receive.processedTimeoutMs', resolved.processedTimeoutMs, {
    min: 1,
    max: HOUR_MS,
  })
  requireInteger('receive.batchMax', resolved.batchMax, { min: 1, max: 5_000 })
  requireInteger('receive.waitingMax', resolved.waitingMax, { min: 1 })
  requireInteger('receive.rememberMax', resolved.rememberMax, { min: 0 })
  return resolved
}
