import { OptionInvalidError } from '../errors.ts'
import type { WebhookEvent } from '../model/event.ts'
import type { Tracing } from '../model/tracing.ts'
import { TRACEPARENT_KEPT } from '../receive/keep-trace.ts'
import type { AnyHandler } from '../work/handler-unit.ts'

/** @throws OptionInvalidError for what cannot trace */
export function requireTracing(tracing: Tracing | undefined): Tracing | undefined {
  const names = ['receive', 'handle', 'send', 'current'] as const
  if (tracing === undefined || names.every((name) => typeof tracing?.[name] === 'function'))
    return tracing
  throw new OptionInvalidError('createInbox.tracing', 'what openTelemetry(api) returns', tracing)
}

/** A handler that runs in a span of its own. */
export function traceHandler(
  tracing: Tracing | undefined,
  name: string,
  run: AnyHandler,
): AnyHandler {
  if (tracing === undefined) return run
  return (event: WebhookEvent, context) => {
    const kept = event.headers[TRACEPARENT_KEPT]
    const traceparent = typeof kept === 'string' ? kept : undefined
    return tracing.handle({ event, handler: name, traceparent }, () => run(event, context))
  }
}
