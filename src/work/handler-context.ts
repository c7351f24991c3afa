import type { SendOptions } from '../model/message.ts'
import type { AnySends, SendMap } from '../model/sends.ts'
import type { LogFields, LogLevel } from '../telemetry/logger.ts'

/** What a handler gets beside the event. */
export interface HandlerContext<
  Tx,
  Fetched = undefined,
  Sql = Tx,
  Sends extends SendMap = AnySends,
> {
  /**
   * The transaction. What is written through it becomes visible together with the fact that the event
   * is done, or not at all. Of no use after the handler has returned. Where the store was given a library (`tx`), it
   * is the library's own object.
   */
  readonly tx: Tx
  /** The same transaction as the store lends it, for plain SQL, `write` and `savepoint`. */
  readonly sql: Sql
  /**
   * Writes a message to the outbox in the handler's transaction: it is sent if that commits, and not
   * otherwise. The payload is written as JSON; bytes are sent as they are. Returns the message's
   * idempotency key, which follows from the event, the handler and the message's position.
   *
   * @throws HookonceError at once, for a destination that is not configured or what cannot be sent
   */
  send<Name extends keyof Sends & string>(
    destination: Name,
    payload: Sends[Name],
    options?: SendOptions,
  ): Promise<string>
  /**
   * Which attempt it is, from 1: one more than have failed so far. A run that ended with its process is a crash and no
   * failed attempt, so that after one a handler of `on` has the same number again; `crashes` tells the two runs apart.
   * Attempts of a step handler are counted when they begin: there the next one has the next number.
   */
  readonly attempt: number
  /** How often the process has died, or stood still for too long, while it ran this event. */
  readonly crashes: number
  /** Whether an operator asked for this run although the event had come to its end before. */
  readonly isReplay: boolean
  /** Which run of the event it is: 0 for the one that the delivery brought, one more for each replay. */
  readonly run: number
  /** What the handler's `fetch` returned; `undefined` for a handler without one. */
  readonly fetched: Fetched
  /** Aborts when the handler's time is up or the worker is stopped for good. Hand it to what you call. */
  readonly signal: AbortSignal
  /** The inbox's logger, with the event's id, source and type on every line. */
  readonly log: Readonly<Record<LogLevel, (message: string, fields?: LogFields) => void>>
  /**
   * A key for an outside call: the same for every attempt of this event, whatever crashes, and derived
   * from source, scope, event key, handler and `name`. Give each outside call of a handler its own name. A replay has
   * the same keys, unless the operator asked for fresh ones.
   */
  idempotencyKey(name?: string): string
}
