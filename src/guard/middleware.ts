/**
 * The guard in front of a route of your own: Express, Nest, or anything that calls `(req, res, next)`.
 *
 *     bytes ─▶ admit ─▶ claim ─▶ your route ─▶ mark ─▶ the route's answer leaves
 *
 * The route's answer decides: a 2xx is done, anything else gives the lease back and the sender
 * comes again. A duplicate never reaches the route and is answered as the first one was.
 *
 * @module
 */

import type { IncomingMessage, ServerResponse } from 'node:http'
import { answerNode } from '../http/answer-node.ts'
import type { NodeMount } from '../http/answer-node.ts'
import { parsedBy } from '../http/parsed-by.ts'
import type { ReceivingInbox } from '../http/receiving-inbox.ts'
import type { Acknowledgement } from '../model/acknowledgement.ts'
import type { WebhookEvent } from '../model/event.ts'
import type { SuccessAnswer } from '../model/source.ts'
import { failed, stored } from '../receive/acknowledge.ts'
import { HeldResponse } from './held-response.ts'
import type { RouteAnswer } from './held-response.ts'
import { comeAgain, receiveGuarded } from './receive-guarded.ts'
import type { Answer, Arrived, ReceiveGuardedContext } from './receive-guarded.ts'
import { runOnce } from './run-once.ts'
import type { OnceContext } from './run-once.ts'

/** A middleware of Express, Nest, or anything else that calls `(req, res, next)`. */
export type Middleware = (
  request: IncomingMessage,
  response: ServerResponse,
  next: (error?: unknown) => void,
) => void

/** What a route behind the middleware gets. */
export interface GuardedDelivery<Payload = unknown> {
  /** The event; the first of those that are not done, where the sender puts several into one request. */
  readonly event: WebhookEvent<Payload>
  /** All events of the request that are not done. */
  readonly events: readonly WebhookEvent<Payload>[]
  /** Aborts when a lease is lost: from then on another may run the same. */
  readonly signal: AbortSignal
  /** A key for an outside call, the same whenever this event runs again. */
  idempotencyKey(name?: string, event?: WebhookEvent<Payload>): string
}

/** What a request carries for the route. Kept beside the request and not on it: a property can be forged by a parser. */
export type GuardedDeliveries = WeakMap<IncomingMessage, GuardedDelivery>

export interface MiddlewareContext {
  readonly guard: ReceivingInbox
  readonly receive: ReceiveGuardedContext
  readonly deliveries: GuardedDeliveries
}

export function createMiddleware(context: MiddlewareContext, sourceName: string): Middleware {
  const { guard } = context
  const limits = guard.requireSource(sourceName)
  return (request, response, next) => {
    const answer = answerByRoute(context, request, response, next)
    const inbox: ReceivingInbox = {
      receiveOptions: guard.receiveOptions,
      inFlight: guard.inFlight,
      receive: (name, delivery) => receiveGuarded(context.receive, name, delivery, answer),
      findSource: (name) => guard.findSource(name),
      requireSource: (name) => guard.requireSource(name),
      reportBodyParsed: (name, hint) => guard.reportBodyParsed(name, hint),
      reportUnread: (name, reason) => guard.reportUnread?.(name, reason),
      isReady: () => guard.isReady(),
    }
    const mount: NodeMount = { inbox, sourceName, limits, hint: middlewareHint }
    void answerNode(mount, request, response)
  }
}

/** One run of the route for all events of the delivery that are not done. */
function answerByRoute(
  context: MiddlewareContext,
  request: IncomingMessage,
  response: ServerResponse,
  next: (error?: unknown) => void,
): Answer {
  return async (success, arrived) => {
    // One request may name an event twice; the second would wait for the first's own lease.
    const distinct = [...new Map(arrived.map((one) => [one.entry.redisKey, one])).values()]
    const [first] = distinct
    const eventId = first?.event.id ?? ''
    if (first === undefined) return stored(success, { outcome: 'accepted', eventId })
    const held = new HeldResponse(response)
    let hasRun = false
    const runRoute = async (guarded: GuardedDelivery): Promise<RouteAnswer | undefined> => {
      hasRun = true
      context.deliveries.set(request, guarded)
      next()
      const answer = await held.ended
      if (answer.status < 200 || answer.status > 299) throw new RouteFailedError(answer.status)
      return distinct.length === 1 && answer.body !== undefined ? answer : undefined
    }
    try {
      const nested = await runNested(context.receive, distinct, [], runRoute)
      if (nested.status === 'known') return answerAgain(success, eventId, nested.kept)
    } catch (error) {
      if (error instanceof BusyError) return comeAgain(error.retryInMs)
      if (!hasRun) throw error
    } finally {
      held.send()
    }
    // The route has answered; this is written only if it broke before it could.
    return failed(eventId)
  }
}

type Claimed = Arrived & { readonly work: OnceContext }

type Nested =
  | { readonly status: 'ran'; readonly answer: unknown }
  /** All were done before. `kept` is the answer of the last of them, where it was kept. */
  | { readonly status: 'known'; readonly kept: unknown }

/**
 * Claims the events one inside the other, so that the innermost runs under all leases: whatever ends
 * it, each outer one marks or gives back its own.
 */
async function runNested(
  context: ReceiveGuardedContext,
  [next, ...others]: readonly Arrived[],
  claimed: readonly Claimed[],
  runRoute: (guarded: GuardedDelivery) => Promise<unknown>,
  kept?: unknown,
): Promise<Nested> {
  if (next === undefined) {
    if (claimed.length === 0) return { status: 'known', kept }
    return { status: 'ran', answer: await runRoute(toGuardedDelivery(claimed)) }
  }
  const outcome = await runOnce(context, next.entry, async (work) => {
    const nested = await runNested(context, others, [...claimed, { ...next, work }], runRoute)
    return nested.status === 'ran' ? nested.answer : undefined
  })
  if (outcome.status === 'busy') throw new BusyError(outcome.retryInMs)
  if (outcome.status === 'duplicate') {
    return runNested(context, others, claimed, runRoute, outcome.result)
  }
  return { status: 'ran', answer: outcome.result }
}

function toGuardedDelivery(claimed: readonly Claimed[]): GuardedDelivery {
  const [first] = claimed
  if (first === undefined) throw new Error('There is no event to hand over')
  const find = (event: WebhookEvent): OnceContext =>
    claimed.find((one) => one.event === event)?.work ?? first.work
  return {
    event: first.event,
    events: claimed.map(({ event }) => event),
    signal: AbortSignal.any(claimed.map(({ work }) => work.signal)),
    idempotencyKey: (name, event = first.event) => find(event).idempotencyKey(name),
  }
}

/** As the first was answered, where that was kept. */
function answerAgain(success: SuccessAnswer, eventId: string, kept: unknown): Acknowledgement {
  const answer = kept as Partial<RouteAnswer> | null | undefined
  if (typeof answer?.status !== 'number' || typeof answer.body !== 'string') {
    return stored(success, { outcome: 'duplicate', eventId })
  }
  return {
    status: answer.status,
    headers: {
      'cache-control': 'no-store',
      ...(typeof answer.type === 'string' && { 'content-type': answer.type }),
    },
    body: answer.body,
    outcome: 'duplicate',
    eventId,
    close: false,
  }
}

class BusyError extends Error {
  readonly retryInMs: number

  constructor(retryInMs: number) {
    super('Another delivery of this event is running')
    this.retryInMs = retryInMs
  }
}

class RouteFailedError extends Error {
  constructor(status: number) {
    super(`The route answered ${status}`)
  }
}

const PARSERS = {
  json: 'express.json() or another JSON parser',
  form: 'express.urlencoded() or another form parser',
  text: 'A text parser',
  other: 'A middleware',
}

const middlewareHint: NodeMount['hint'] = (parsed, sourceName) =>
  `${parsedBy(PARSERS, parsed)}. Put the guard first on its route, above any parser: ` +
  `app.post('/webhooks/${sourceName}', guard.middleware('${sourceName}'), route). ` +
  `Or let the parser keep the bytes: express.json({ verify: (req, res, buffer) => { req.rawBody = buffer } }).`
