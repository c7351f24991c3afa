/**
 * How the type of a source becomes the type of a handler's event. Types only.
 *
 * @module
 */

import type { WebhookEvent } from './model/event.ts'
import type { AnyEvents, EventMap, Source } from './model/source.ts'
import type { HandlerContext } from './work/handler-context.ts'
import type { StepContext } from './work/step-context.ts'

/**
 * Sources by name. Without `eventTypes`: named here, it would be inferred from and every payload
 * would become the widest one.
 */
export type SourceMap = Readonly<Record<string, Omit<Source, 'eventTypes'>>>

export type EventsOf<S> = S extends { readonly eventTypes?: infer Events }
  ? NonNullable<Events> extends EventMap
    ? NonNullable<Events>
    : AnyEvents
  : AnyEvents

/** A type the source knows, or a pattern. Any text where the source does not list its types. */
export type TypePattern<Events extends EventMap> = string extends keyof Events
  ? string
  : (keyof Events & string) | `${string}*${string}`

type Matching<Events extends EventMap, Pattern extends string> = Pattern extends '*'
  ? keyof Events & string
  : Pattern extends `${infer Head}*${infer Tail}`
    ? Extract<keyof Events, `${Head}${string}${Tail}`>
    : Extract<keyof Events, Pattern>

/** The payload of the events a pattern matches; a union where it matches several types. */
export type PayloadFor<
  Events extends EventMap,
  Pattern extends string,
> = string extends keyof Events
  ? Events[keyof Events]
  : [Matching<Events, Pattern>] extends [never]
    ? unknown
    : Events[Matching<Events, Pattern>]

export type PatternsOf<T> = T extends readonly (infer Pattern extends string)[]
  ? Pattern
  : T extends string
    ? T
    : never

/** The transaction of a handler: none where it may run twice. */
export type TxFor<Tx, Options> = Options extends { readonly guarantee: 'at-least-once' }
  ? never
  : Tx

/** The payload a handler gets: what its schema puts out, else what the source says. */
export type PayloadWith<Payload, Options> = Options extends {
  readonly schema: { readonly '~standard': { readonly types?: infer Types } }
}
  ? NonNullable<Types> extends { readonly output: infer Output }
    ? Output
    : Payload
  : Payload

/**
 * A handler for some of a source's events.
 *
 * Return: the event is done. `return skip(reason)`: nothing to do. Throw: it is tried again later.
 * `throw permanent(reason)`: it is dead now. `throw retryAfter(ms)`: it is tried again, not before.
 */
export type HandlerFunction<Payload, Tx> = (
  event: WebhookEvent<Payload>,
  context: HandlerContext<Tx>,
) => unknown

/**
 * A step handler: its steps are kept one by one, and it holds no transaction between them.
 *
 * What it returns and throws means the same as for other handlers. It runs again from its beginning after a
 * failure or a crash, and finished steps return what they returned before; so between its steps it may only
 * do what it may do twice, and it must take the same steps in the same order.
 */
export type StepHandlerFunction<Payload, Tx> = (
  event: WebhookEvent<Payload>,
  step: StepContext<Tx>,
) => unknown
