/**
 * Spans of OpenTelemetry. An entry of its own: `hookonce/opentelemetry`.
 *
 *     receive stripe   ◀── link ──   process stripe   ◀── link ──   send app
 *
 * A span ends with what it tells of. Between a delivery and its handler may be a night and a restart, so that the
 * handler's span is no child of the delivery's: it has a link to it. The context of the delivery is kept with the event,
 * and that of the handler with the message.
 *
 * @module
 */

import type * as OpenTelemetry from '@opentelemetry/api'
import { asError } from '../errors.ts'
import { redactText } from '../telemetry/redact-text.ts'
import type { HandledTrace, SentTrace, Tracing } from '../model/tracing.ts'

type Api = Pick<
  typeof OpenTelemetry,
  'context' | 'propagation' | 'trace' | 'ROOT_CONTEXT' | 'SpanKind' | 'SpanStatusCode'
>
type Attributes = Readonly<Record<string, string | number>>

/** The sender's text, in an attribute. */
const TEXT_MAX = 200

/**
 * Makes spans with the OpenTelemetry of your process: `createInbox({ tracing: openTelemetry(api), … })` with
 * `import * as api from '@opentelemetry/api'`. What is exported, sampled and propagated is up to your SDK; without one
 * nothing is made.
 */
export function openTelemetry(api: Api): Tracing {
  const tracer = api.trace.getTracer('hookonce')
  const { CONSUMER, CLIENT } = api.SpanKind

  const current = (): string | undefined => {
    const carrier: { traceparent?: string } = {}
    api.propagation.inject(api.context.active(), carrier)
    return carrier.traceparent
  }
  const linksTo = (traceparent: string | undefined): OpenTelemetry.Link[] => {
    if (traceparent === undefined) return []
    const kept = api.propagation.extract(api.ROOT_CONTEXT, { traceparent })
    const context = api.trace.getSpanContext(kept)
    return context === undefined ? [] : [{ context }]
  }
  const inSpan = <Result>(
    name: string,
    options: OpenTelemetry.SpanOptions,
    work: (span: OpenTelemetry.Span) => Promise<Result>,
  ): Promise<Result> =>
    tracer.startActiveSpan(name, options, async (span) => {
      try {
        return await work(span)
      } catch (error) {
        const { name: kind, message, stack = '' } = asError(error)
        const text = redactText(message)
        span.recordException({ name: kind, message: text, stack: redactText(stack) })
        span.setStatus({ code: api.SpanStatusCode.ERROR, message: text })
        throw error
      } finally {
        span.end()
      }
    })

  return {
    current,
    receive: (source, work) =>
      inSpan(`receive ${source}`, describeReceive(CONSUMER, source), async (span) => {
        const answer = await work(current())
        span.setAttribute('hookonce.outcome', answer.outcome)
        if (answer.eventId) span.setAttribute('messaging.message.id', answer.eventId)
        if (answer.status >= 500) span.setStatus({ code: api.SpanStatusCode.ERROR })
        return answer
      }),
    handle: (about, work) =>
      inSpan(
        `process ${about.event.source}`,
        {
          kind: CONSUMER,
          attributes: describeRun(about),
          links: linksTo(about.traceparent),
          root: true,
        },
        async () => work(),
      ),
    send: (about, work) =>
      inSpan(
        `send ${about.destination}`,
        {
          kind: CLIENT,
          attributes: describeSend(about),
          links: linksTo(about.traceparent),
          root: true,
        },
        async (span) => {
          const result = await work(current())
          span.setAttribute('hookonce.outcome', result.status)
          if (result.status !== 'sent') span.setStatus({ code: api.SpanStatusCode.ERROR })
          return result
        },
      ),
  }
}

function describeReceive(kind: OpenTelemetry.SpanKind, source: string): OpenTelemetry.SpanOptions {
  return { kind, attributes: about('receive', source) }
}

function describeRun({ event, handler }: HandledTrace): Attributes {
  return {
    ...about('process', event.source),
    'messaging.message.id': event.id,
    'hookonce.event.type': event.type.slice(0, TEXT_MAX),
    'hookonce.event.key': event.key.slice(0, TEXT_MAX),
    'hookonce.handler': handler,
  }
}

function describeSend({ message, destination, attempt }: SentTrace): Attributes {
  return {
    ...about('send', destination),
    'messaging.message.id': message.id,
    'hookonce.attempt': attempt,
    ...(message.eventId !== undefined && { 'hookonce.event.id': message.eventId }),
  }
}

function about(operation: string, name: string): Attributes {
  return {
    'messaging.system': 'hookonce',
    'messaging.operation.name': operation,
    'messaging.destination.name': name,
  }
}
