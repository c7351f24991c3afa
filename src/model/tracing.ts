import type { Acknowledgement } from './acknowledgement.ts'
import type { WebhookEvent } from './event.ts'
import type { Message } from './message.ts'

/**
 * Makes spans of what an inbox does. `openTelemetry(api)` of `hookonce/opentelemetry` is one. What it does wrong must
 * not change what happens to a webhook: each function calls its `work` once and gives back what that gives back.
 *
 * A `traceparent` is where a trace is, as W3C Trace Context writes it.
 */
export interface Tracing {
  /** Around a delivery. The traceparent that `work` is called with is kept with the events of the delivery. */
  receive(
    source: string,
    work: (traceparent: string | undefined) => Promise<Acknowledgement>,
  ): Promise<Acknowledgement>
  /** Around a handler. */
  handle(about: HandledTrace, work: () => unknown): unknown
  /** Around an attempt to send a message, with the traceparent that the other side is told. */
  send<Result extends { readonly status: string }>(
    about: SentTrace,
    work: (traceparent: string | undefined) => Promise<Result>,
  ): Promise<Result>
  /** Where the code that runs now is: kept with a message. */
  current(): string | undefined
}

/** The run of a handler. */
export interface HandledTrace {
  readonly event: WebhookEvent
  /** The name of the handler. */
  readonly handler: string
  /** Where the delivery was that brought the event, if that was traced. */
  readonly traceparent: string | undefined
}

/** An attempt to send a message. */
export interface SentTrace {
  readonly message: Message
  /** The name of the destination. */
  readonly destination: string
  readonly attempt: number
  /** Where the code was that wrote the message, if that was traced. */
  readonly traceparent: string | undefined
}
