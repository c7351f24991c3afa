/**
 * Registers handlers so that the test sees them: how often they run, which outside calls they make, and at which points
 * they can die.
 *
 * @module
 */

import type { WebhookEvent } from '../../model/event.ts'
import type { CallOptions, StepCallContext, StepContext } from '../../work/steps/step-context.ts'
import type { CrashPoint } from './crash-points.ts'
import { keepRun } from './handler-runs.ts'
import type { HandlerRun } from './handler-runs.ts'
import { noteCall, runIn } from './outside-calls.ts'
import type { FetchStub, Frame, OutsideCall } from './outside-calls.ts'

export interface HandlerWatch {
  readonly calls: OutsideCall[]
  readonly runs: HandlerRun[]
  readonly fetch: FetchStub | undefined
  /** Never resolves where the process dies. */
  readonly pass: (point: CrashPoint) => Promise<void>
  readonly isArmed: (point: CrashPoint) => boolean
  /** Counts a visit to a point that is not armed. */
  readonly note: (point: CrashPoint) => void
}

type Handler = (event: WebhookEvent, context: never) => unknown
type Register = (...args: unknown[]) => unknown
type CallWork = (context: StepCallContext) => unknown
/** Which handler it is: the how manieth that was registered. */
type Numbered = HandlerWatch & { readonly handler: number }

/** The inbox with handlers that are watched. All else is the inbox's own. */
export function watchHandlers<Inbox extends object>(inbox: Inbox, watch: HandlerWatch): Inbox {
  let handlers = 0
  const watched: Inbox = new Proxy(inbox, {
    get: (target, name) => {
      const member: unknown = Reflect.get(target, name)
      if (typeof member !== 'function') return member
      if (name !== 'on' && name !== 'steps') return (member as Register).bind(target)
      const wrap = name === 'on' ? watchHandler : watchSteps
      return (...args: unknown[]) => {
        const handler = args.at(-1)
        if (typeof handler === 'function')
          args = [
            ...args.slice(0, -1),
            wrap(handler as Handler, { ...watch, handler: (handlers += 1) }),
          ]
        ;(member as Register).apply(target, args)
        return watched
      }
    },
  })
  return watched
}

function watchHandler(handler: Handler, watch: Numbered): Handler {
  return (event, context) => {
    const frame = frameOf(event, context, watch)
    return runIn(frame, () =>
      watchRun(watch, { of: event, attempt: frame.attempt, isSteps: false }, () =>
        handler(event, context),
      ),
    )
  }
}

function watchSteps(handler: Handler, watch: Numbered): Handler {
  return (event, context) => {
    const frame = frameOf(event, context, watch)
    const step = watchCalls(context, frame, watch)
    return runIn(frame, () =>
      watchRun(watch, { of: event, attempt: frame.attempt, isSteps: true }, () =>
        handler(event, step as never),
      ),
    )
  }
}

async function watchRun(
  { runs, handler, pass }: Numbered,
  about: { readonly of: WebhookEvent; readonly attempt: number; readonly isSteps: boolean },
  run: () => unknown,
): Promise<unknown> {
  await pass('before-handler')
  return keepRun(runs, { ...about, handler }, async () => {
    const value = await run()
    await pass('after-handler')
    return value
  })
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
    if (!watch.isArmed('after-step')) {
      // Not by `made.then`, by which a step knows that the handler waits for it.
      void Promise.prototype.then.call(
        made,
        () => watch.note('after-step'),
        () => undefined,
      )
      return made
    }
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
