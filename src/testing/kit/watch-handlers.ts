/**
 * Registers handlers so that the test sees them: which outside calls they make, and at which points they can die.
 *
 * @module
 */

import type { WebhookEvent } from '../../model/event.ts'
import type { CallOptions, StepCallContext, StepContext } from '../../work/steps/step-context.ts'
import type { CrashPoint } from './crash-points.ts'
import { noteCall, runIn } from './outside-calls.ts'
import type { FetchStub, Frame, OutsideCall } from './outside-calls.ts'

export interface HandlerWatch {
  readonly calls: OutsideCall[]
  readonly fetch: FetchStub | undefined
  /** Never resolves where the process dies. */
  readonly pass: (point: CrashPoint) => Promise<void>
  readonly isArmed: (point: CrashPoint) => boolean
}

type Handler = (event: WebhookEvent, context: never) => unknown
type Register = (...args: unknown[]) => unknown
type CallWork = (context: StepCallContext) => unknown

/** The inbox with handlers that are watched. All else is the inbox's own. */
export function watchHandlers<Inbox extends object>(inbox: Inbox, watch: HandlerWatch): Inbox {
  const watched: Inbox = new Proxy(inbox, {
    get: (target, name) => {
      const member: unknown = Reflect.get(target, name)
      if (typeof member !== 'function') return member
      if (name !== 'on' && name !== 'steps') return (member as Register).bind(target)
      const wrap = name === 'on' ? watchHandler : watchSteps
      return (...args: unknown[]) => {
        const handler = args.at(-1)
        if (typeof handler === 'function')
          args = [...args.slice(0, -1), wrap(handler as Handler, watch)]
        ;(member as Register).apply(target, args)
        return watched
      }
    },
  })
  return watched
}

function watchHandler(handler: Handler, watch: HandlerWatch): Handler {
  return (event, context) =>
    runIn(frameOf(event, context, watch), async () => {
      await watch.pass('before-handler')
      const value = await handler(event, context)
      await watch.pass('after-handler')
      return value
    })
}

function watchSteps(handler: Handler, watch: HandlerWatch): Handler {
  return (event, context) => {
    const frame = frameOf(event, context, watch)
    const step = watchCalls(context, frame, watch)
    return runIn(frame, async () => {
      await watch.pass('before-handler')
      const value = await handler(event, step as never)
      await watch.pass('after-handler')
      return value
    })
  }
}

function watchCalls(
  step: StepContext<unknown, unknown>,
  frame: Frame,
  watch: HandlerWatch,
): StepContext<unknown, unknown> {
  const call = (name: string, ...rest: [CallWork] | [CallOptions, CallWork]): Promise<unknown> => {
    const [options, work] = rest.length === 1 ? [{}, rest[0]] : rest
    const made = step.call(name, options, (context) => {
      const { idempotencyKey } = context
      return runIn({ ...frame, step: { name, idempotencyKey } }, async () => {
        await watch.pass('before-call')
        noteCall({ to: name, by: 'step', idempotencyKey, isSafe: false })
        const value = await work(context)
        await watch.pass('after-call')
        return value
      })
    })
    // To wait for the promise here would make a step that the handler forgot look like one that it waits for.
    if (!watch.isArmed('after-step')) return made
    return made.then(async (value) => {
      await watch.pass('after-step')
      return value
    })
  }
  return Object.assign(Object.create(step) as typeof step, { call })
}

function frameOf(event: WebhookEvent, context: unknown, { calls, fetch }: HandlerWatch): Frame {
  const { attempt } = context as { readonly attempt: number }
  return { event: event.key, attempt, calls, fetch }
}
