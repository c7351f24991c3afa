/**
 * What a handler gets beside the event, while it runs.
 *
 * A class whose members are made when they are asked for: most handlers use one or two of them, and what is
 * made for every event is paid for by every event. Measured on 50,000 events of one write each, the context
 * and what belongs to it were 5 of 19 kilobytes of garbage an event.
 *
 * @module
 */

import { HookonceError } from '../errors.ts'
import type { SendOptions } from '../model/message.ts'
import type { ClaimedEvent } from '../store/contract/claimed-event.ts'
import type { Store } from '../store/contract/store.ts'
import type { Logger } from '../telemetry/logger.ts'
import type { HandlerContext } from './handler-context.ts'
import type { Handler } from './handler-unit.ts'
import { deriveIdempotencyKey } from '../model/idempotency-key.ts'
import { Outgoing } from './outgoing.ts'
import type { HandlerOutbox } from './outgoing.ts'

export interface RunningParts<Sql> {
  readonly logger: Logger
  readonly store: Pick<Store<Sql, unknown>, 'bindTx'>
  readonly outbox: HandlerOutbox<Sql>
  readonly event: ClaimedEvent
  readonly handler: Handler
  /** `undefined` for a handler that has no transaction. */
  readonly lent: { readonly tx: Sql } | undefined
  readonly abortion: { readonly signal: AbortSignal }
  /** What the handler's `fetch` returned. */
  readonly fetched?: unknown
}

export class RunningContext<Sql> implements HandlerContext<unknown, unknown, Sql> {
  readonly #parts: RunningParts<Sql>
  #tx: unknown
  #outgoing: Outgoing<Sql> | undefined
  #isClosed = false

  constructor(parts: RunningParts<Sql>) {
    this.#parts = parts
  }

  /** Made when it is asked for: a library's object costs more than the rest of the context. */
  get tx(): unknown {
    this.#tx ??= this.#parts.store.bindTx(this.sql)
    return this.#tx
  }

  get sql(): Sql {
    const { lent, handler } = this.#parts
    if (lent !== undefined) return lent.tx
    throw transactionExpected(handler, 'no tx')
  }

  // The functions are values that a handler may take out of the context, so that they cannot be methods.

  get send(): HandlerContext<Sql>['send'] {
    return (destination, payload, options) => this.#send(destination, payload, options)
  }

  get idempotencyKey(): HandlerContext<Sql>['idempotencyKey'] {
    const { event, handler } = this.#parts
    return (name = '') =>
      deriveIdempotencyKey({ keyHash: event.keyHash, handler: handler.name, name })
  }

  get attempt(): number {
    return this.#parts.event.attempt
  }

  get crashes(): number {
    return this.#parts.event.crashes
  }

  get isReplay(): boolean {
    return this.#parts.event.run > 0
  }

  get run(): number {
    return this.#parts.event.run
  }

  get fetched(): unknown {
    return this.#parts.fetched
  }

  get signal(): AbortSignal {
    return this.#parts.abortion.signal
  }

  get log(): HandlerContext<Sql>['log'] {
    const { logger, event, handler } = this.#parts
    const { eventId, source, type } = event
    const about = { eventId, source, type, handler: handler.name }
    return {
      debug: (message, fields) => logger.debug({ ...fields, ...about }, message),
      info: (message, fields) => logger.info({ ...fields, ...about }, message),
      warn: (message, fields) => logger.warn({ ...fields, ...about }, message),
      error: (message, fields) => logger.error({ ...fields, ...about }, message),
    }
  }

  /** Writes what the handler has sent, and says whether there was anything. Nothing can be sent afterwards. */
  async writeMessages(): Promise<boolean> {
    this.close()
    const { lent } = this.#parts
    if (lent === undefined || this.#outgoing === undefined) return false
    await this.#outgoing.write(lent.tx)
    return true
  }

  /** The handler has ended. */
  close(): void {
    this.#isClosed = true
  }

  #send(destination: string, payload: unknown, options?: SendOptions): Promise<string> {
    const { lent, handler, outbox, event } = this.#parts
    if (lent === undefined) throw transactionExpected(handler, 'nothing to send in')
    if (this.#isClosed) {
      throw new HookonceError(
        'TX_REVOKED',
        'The handler has returned or timed out, and sends nothing more. Is an await missing?',
      )
    }
    this.#outgoing ??= new Outgoing(outbox, event, handler.name)
    return this.#outgoing.send(destination, payload, options)
  }
}

function transactionExpected({ name }: Handler, lacks: string): HookonceError {
  return new HookonceError(
    'TRANSACTION_EXPECTED',
    `The handler "${name}" has guarantee 'at-least-once' and therefore ${lacks}; leave the option out to get a transaction`,
  )
}
