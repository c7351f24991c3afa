/**
 * How the type of a source becomes the type of an event's payload. Types only.
 *
 * @module
 */

import type { AnyEvents, EventMap, Source } from './source.ts'

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

/** The payload a handler gets: what its schema puts out, else what the source says. */
export type PayloadWith<Payload, Options> = Options extends {
  readonly schema: { readonly '~standard': { readonly types?: infer Types } }
}
  ? NonNullable<Types> extends { readonly output: infer Output }
    ? Output
    : Payload
  : Payload
