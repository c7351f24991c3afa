/**
 * What can be done. Every route is a POST with a JSON body, so that no page of another site can ask for it by a form.
 *
 * @module
 */

import { z } from 'zod'
import { parseFilter } from '../../admin/filter-text.ts'
import { parseMessageFilter } from '../../admin/message-filter-text.ts'
import type {
  ActionOptions,
  BulkAction,
  BulkPlan,
  MessageBulkPlan,
  PauseTarget,
  ReasonedActionOptions,
} from '../../index.ts'
import { isMessageBulk } from '../../model/bulk.ts'
import { plannedBulk } from './answers/bulks.ts'
import { done, erasedWhere, eventActionDone, pruned } from './answers/operators.ts'
import { route } from './route.ts'
import type { Given } from './route.ts'
import { bytes } from './wire.ts'

const ACT = { method: 'POST', role: 'operator', mayRefuse: true } as const
/** What takes something away, or has an effect a second time. */
const DESTROYS = { destroys: true } as const
/** What cannot be undone. */
const ACT_FOR_GOOD = { ...ACT, ...DESTROYS, role: 'admin' } as const

const ORDER = {
  reason: z.string().optional().describe('Why. Kept in the audit.'),
  actor: z
    .string()
    .optional()
    .describe('Who. The audit has it behind the name of the token: `ci/ada`.'),
  token: z
    .string()
    .optional()
    .describe('Stands for this one action: a second call with it changes nothing.'),
}
const order = z.strictObject(ORDER)
const REASONED = { ...ORDER, reason: z.string().describe('Why. Kept in the audit.') }
const reasoned = z.strictObject(REASONED)

const lane = z.strictObject({
  source: z.string().describe('The name of its source.'),
  key: z.string().describe("What the handler's `order.lane` returns."),
})
const target = z.strictObject({
  source: z.string().optional().describe('One of these four.'),
  handler: z.string().optional(),
  destination: z.string().optional(),
  lane: lane.optional(),
})
const pausing = z.strictObject({ target, ...ORDER })

export const ACT_ROUTES = {
  retry: eventAction('retry', order, 'Runs a dead event again'),
  release: eventAction('release', reasoned, 'Runs a conflict or a quarantined event'),
  discard: {
    ...eventAction('discard', reasoned, 'Ends an event that has no effects: it never runs'),
    ...DESTROYS,
  },
  forget: {
    ...eventAction(
      'forget',
      order,
      "Drops the key of an event, so that the sender's redelivery runs afresh",
    ),
    ...DESTROYS,
  },
  erase: {
    ...eventAction('erase', reasoned, 'Takes the bytes of an event out of every table, for good'),
    ...ACT_FOR_GOOD,
  },
  replay: route({
    ...ACT,
    ...DESTROYS,
    path: '/events/{eventId}/replay',
    summary: 'Runs an event once more that has come to its end',
    takesPayload: true,
    body: z.strictObject({
      ...REASONED,
      freshKeys: z.boolean().optional().describe('Whether it has idempotency keys of its own.'),
      body: bytes.optional().describe('What the handlers get in place of the body.'),
      onlyIfNotApplied: z.boolean().optional().describe('Refused where a run has ended as done.'),
    }),
    answer: eventActionDone,
    call: (operator, given) =>
      operator.replay(given.path['eventId'] ?? '', {
        ...withActor(given),
        reason: given.body.reason,
      }),
  }),
  resolveStep: route({
    ...ACT,
    ...DESTROYS,
    path: '/events/{eventId}/resolve-step',
    summary: 'Says what became of a call whose outcome is not known',
    body: z.strictObject({
      step: z.string().describe('The name of the step.'),
      decision: z.strictObject({
        happened: z.boolean().describe('Whether the other side has done it.'),
        result: z.unknown().optional().describe('What the step shall return, where it happened.'),
        handler: z.exactOptional(z.string()).describe('Where several handlers have such a step.'),
      }),
      ...ORDER,
    }),
    answer: done,
    call: (operator, given) => {
      const { step, decision, ...options } = withActor(given)
      return operator.resolveStep(given.path['eventId'] ?? '', step, decision, options)
    },
  }),
  retryMessage: messageAction(
    'retryMessage',
    'Sends a dead or unknown message again, under its own key',
  ),
  confirmMessage: {
    ...messageAction('confirmMessage', 'Says that an unknown message has arrived'),
    ...DESTROYS,
  },
  discardMessage: {
    ...messageAction('discardMessage', 'Drops a message that is not sent and not on its way'),
    ...DESTROYS,
  },
  pause: route({
    ...ACT,
    path: '/pauses',
    summary: 'Keeps a source, a handler, a destination or a lane still',
    body: pausing,
    answer: done,
    call: (operator, given) => {
      const { target: what, ...options } = withActor(given)
      return operator.pause(what as PauseTarget, options)
    },
  }),
  resume: route({
    ...ACT,
    path: '/pauses/resume',
    summary: 'Lets it go on',
    body: pausing,
    answer: done,
    call: (operator, given) => {
      const { target: what, ...options } = withActor(given)
      return operator.resume(what as PauseTarget, options)
    },
  }),
  planBulk: route({
    ...ACT,
    path: '/bulks',
    mayRefuse: false,
    summary: 'Chooses events or messages for an action. Nothing is done to them yet',
    body: z.strictObject({
      action: z
        .string()
        .describe(
          '`retry`, `replay`, `release`, `discard` or `forget` for events; `retryMessage` or `discardMessage`.',
        ),
      filter: z
        .string()
        .describe(
          'Which events, such as `state:dead source:stripe`; or messages, such as `destination:crm`.',
        ),
      ...ORDER,
      freshKeys: z.boolean().optional().describe('For `replay`.'),
      onlyIfNotApplied: z.boolean().optional().describe('For `replay`: true if left out.'),
    }),
    answer: plannedBulk,
    call: (operator, given) => {
      const { filter, ...plan } = withActor(given)
      return isMessagePlan(plan)
        ? operator.bulk.plan({ ...plan, filter: parseMessageFilter(filter) })
        : operator.bulk.plan({ ...(plan as BulkPlan), filter: parseFilter(filter) })
    },
  }),
  runBulk: route({
    ...ACT,
    ...DESTROYS,
    path: '/bulks/{id}/run',
    summary: 'Acts on what was chosen, in the background of the gateway',
    body: z.strictObject({
      ratePerSecond: z.exactOptional(z.int()).describe('At most so many a second; 50 if left out.'),
      ...ORDER,
    }),
    answer: done,
    call: async (operator, given) => {
      const run = await operator.bulk.run(given.path['id'] ?? '', withActor(given))
      return run.status === 'done' ? { status: 'done' } : run
    },
  }),
  abortBulk: route({
    ...ACT,
    path: '/bulks/{id}/abort',
    summary: 'Nothing more is done. What was done stays',
    body: order,
    answer: done,
    call: (operator, given) => operator.bulk.abort(given.path['id'] ?? '', withActor(given)),
  }),
  eraseWhere: route({
    ...ACT_FOR_GOOD,
    path: '/erase-where',
    mayRefuse: false,
    summary: 'Erases every event of a source that has a value in its payload',
    body: z.strictObject({
      where: z.strictObject({
        path: z.string().describe('Such as `$.data.customer.id`.'),
        equals: z.union([z.string(), z.number(), z.boolean()]),
      }),
      source: z.string().describe('Whose events are looked through.'),
      ...REASONED,
    }),
    answer: erasedWhere,
    call: (operator, given) => {
      const { where, source, ...options } = withActor(given)
      return operator.eraseWhere(where, { ...options, source, reason: given.body.reason })
    },
  }),
  prune: route({
    ...ACT_FOR_GOOD,
    path: '/prune',
    summary: 'Removes what is older than its retention',
    body: z.strictObject({
      force: z.exactOptional(z.boolean()).describe('Also where it is far more than usual.'),
      ...ORDER,
    }),
    answer: pruned,
    call: (operator, given) => operator.prune(withActor(given)),
  }),
}

function eventAction(
  action: 'retry' | 'release' | 'discard' | 'forget' | 'erase',
  body: typeof order | typeof reasoned,
  summary: string,
) {
  return route({
    ...ACT,
    path: `/events/{eventId}/${action}`,
    summary,
    body: body as typeof order,
    answer: eventActionDone,
    call: (operator, given) =>
      // Where a reason is needed, the body has one.
      operator[action](given.path['eventId'] ?? '', withActor(given) as ReasonedActionOptions),
  })
}

function messageAction(
  action: 'retryMessage' | 'confirmMessage' | 'discardMessage',
  summary: string,
) {
  return route({
    ...ACT,
    path: `/messages/{id}/${action.replace('Message', '')}`,
    summary,
    body: order,
    answer: done,
    call: (operator, given) => operator[action](given.path['id'] ?? '', withActor(given)),
  })
}

/** The operator says what else is wrong with it. */
function isMessagePlan(plan: object): plan is Omit<MessageBulkPlan, 'filter'> {
  return 'action' in plan && isMessageBulk(plan.action as BulkAction)
}

type Defined<Type> = { [Key in keyof Type]: Exclude<Type[Key], undefined> }

/** What was said, with the actor that the audit gets. A member without a value is left out, as operators want it. */
function withActor<Body extends { readonly actor?: string | undefined }>({
  body,
  actor,
}: Given<unknown, Body>): Defined<Omit<Body, keyof ActionOptions>> & ActionOptions {
  const said = { ...body, actor: actor(body.actor) }
  return Object.fromEntries(
    Object.entries(said).filter(([, value]) => value !== undefined),
  ) as Defined<Omit<Body, keyof ActionOptions>> & ActionOptions
}
