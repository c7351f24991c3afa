import type { MessageDraft } from '../model/message.ts'
import type { Tracing } from '../model/tracing.ts'
import type { Destination } from './destination.ts'

/** What is written for the other side of a message, and kept with it. */
const TRACEPARENT = 'traceparent'

/** A message that remembers where it was written, unless its sender has said something else. */
export function traceDraft(tracing: Tracing | undefined, draft: MessageDraft): MessageDraft {
  const traceparent = tracing?.current()
  if (traceparent === undefined || TRACEPARENT in draft.headers) return draft
  return { ...draft, headers: { ...draft.headers, [TRACEPARENT]: traceparent } }
}

/** Destinations whose attempts are spans, and that tell the other side where the trace is. */
export function traceDestinations(
  tracing: Tracing | undefined,
  destinations: readonly Destination[],
): readonly Destination[] {
  if (tracing === undefined) return destinations
  return destinations.map((one) => ({
    ...one,
    send: (message, context) => {
      const { [TRACEPARENT]: traceparent, ...headers } = message.headers
      const about = { message, destination: one.name, attempt: context.attempt, traceparent }
      return tracing.send(about, (ours) => {
        const told = ours ?? traceparent
        const traced = { ...headers, ...(told !== undefined && { [TRACEPARENT]: told }) }
        return one.send({ ...message, headers: traced }, context)
      })
    },
  }))
}
