/**
 * How the destinations of an inbox become what its handlers can send. Types only.
 *
 * @module
 */

/** Payloads by the name of their destination. Lives in the type system only. */
export type SendMap = object

/** For an inbox that says nothing of its destinations: any name, any payload. */
export type AnySends = Readonly<Record<string, unknown>>

/** What is known of a destination by its type. */
export interface NamedDestination {
  readonly name: string
  readonly payloadType?: unknown
}

/** The names of these destinations, and what each takes. Any name where the list is made at run time. */
export type SendsOf<List extends readonly NamedDestination[]> = {
  readonly [One in List[number] as One['name']]: PayloadOf<One>
}

type PayloadOf<One> = One extends { readonly payloadType?: infer Payload } ? Payload : unknown
