/**
 * What a handler is. Types only.
 *
 * @module
 */

import type { WebhookEvent } from '../model/event.ts'
import type {
  EventsOf,
  PatternsOf,
  PayloadFor,
  SourceMap,
  TypePattern,
} from '../model/event-types.ts'
import type { AnySends, SendMap } from '../model/sends.ts'
import type { HandlerContext } from '../work/handler-context.ts'
import type { StepContext } from '../work/steps/step-context.ts'

/**
 * A handler for some of a source's events.
 *
 * Return: the event is done. `return skip(reason)`: nothing to do. Throw: it is tried again later.
 * `throw permanent(reason)`: it is dead now. `throw retryAfter(ms)`: it is tried again, not before.
 */
export type HandlerFunction<
  Payload,
  Tx,
  Fetched = undefined,
  Sql = Tx,
  Sends extends SendMap = AnySends,
> = (event: WebhookEvent<Payload>, context: HandlerContext<Tx, Fetched, Sql, Sends>) => unknown

/**
 * A step handler: its steps are kept one by one, and it holds no transaction between them.
 *
 * What it returns and throws means the same as for other handlers. It runs again from its beginning after a
 * failure or a crash, and finished steps return what they returned before; so between its steps it may only
 * do what it may do twice, and it must take the same steps in the same order.
 */
export type StepHandlerFunction<
  Payload,
  Tx,
  Fetched = undefined,
  Sql = Tx,
  Sends extends SendMap = AnySends,
> = (event: WebhookEvent<Payload>, step: StepContext<Tx, Fetched, Sql, Sends>) => unknown

/** The transaction of a handler: none where it may run twice. */
export type TxFor<Tx, Options> = Options extends { readonly guarantee: 'at-least-once' }
  ? never
  : Tx

/** What a handler finds in `ctx.fetched`. */
export type FetchedBy<Options> = Options extends {
  readonly fetch: (...args: never[]) => infer Fetched
}
  ? Awaited<Fetched>
  : undefined

/** What handlers of a source can be registered for. */
export type Patterns<Sources extends SourceMap, Name extends keyof Sources> =
  TypePattern<EventsOf<Sources[Name]>> | readonly TypePattern<EventsOf<Sources[Name]>>[]

/** The payloads of the events that a handler is registered for. */
export type PayloadOf<Sources extends SourceMap, Name extends keyof Sources, Types> = PayloadFor<
  EventsOf<Sources[Name]>,
  PatternsOf<Types>
>
