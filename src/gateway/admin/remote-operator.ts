/**
 * An operator that speaks to a running gateway, and is otherwise the same: the same arguments are refused with the
 * same errors, refusals are the same values, times are dates.
 *
 * @module
 */

import { setTimeout as wait } from 'node:timers/promises'
import { z } from 'zod'
import { formatFilter } from '../../admin/filter-text.ts'
import { formatMessageFilter } from '../../admin/message-filter-text.ts'
import { HookonceError, OptionInvalidError } from '../../errors.ts'
import { createOperator } from '../../index.ts'
import type {
  ActionResult,
  BulkEnd,
  EventFilter,
  EventQuery,
  MessageFilter,
  Operator,
  StandaloneOperator,
  Store,
} from '../../index.ts'
import { isMessageBulk } from '../../model/bulk.ts'
import { rejectUnknownKeys } from '../../options/reject-unknown-keys.ts'
import { requireInteger } from '../../options/require-integer.ts'
import { callGateway } from './call-gateway.ts'
import type { GatewayAccess } from './call-gateway.ts'
import type { AnswerOf, Route } from './route.ts'
import { fillPath, ROUTES } from './routes.ts'
import type { RouteName } from './routes.ts'

/** Which gateway, and as whom. */
export interface RemoteOperatorOptions {
  /** Of its admin listener, such as `http://127.0.0.1:4401`. */
  readonly url: string
  /** As `hookonce token create` shows it. Left out, for a gateway on this machine without a token. */
  readonly token?: string
  /**
   * How long an answer may take to begin, or to go on.
   *
   * @defaultValue 600000
   */
  readonly timeoutMs?: number
}

const TIMEOUT_MS = 600_000

/**
 * Makes an operator on a running gateway. Nothing is connected to before the first action.
 *
 * @throws OptionInvalidError for an option that is unknown or cannot be used
 */
export function createRemoteOperator(options: RemoteOperatorOptions): StandaloneOperator {
  const closing = new AbortController()
  const access = { ...resolveGateway(options), signal: closing.signal }
  const send: Send = (name, given = {}) => sendTo(access, name, given)
  const close = async (): Promise<void> => closing.abort()
  const remote = { ...bindRoutes(send, closing.signal), close, [Symbol.asyncDispose]: close }
  return checkFirst(remote, createChecker())
}

const OPTIONS = ['url', 'token', 'timeoutMs'] as const

/**
 * `said` is what the options are called where they were said.
 *
 * @throws OptionInvalidError for an option that is unknown or cannot be used
 */
export function resolveGateway(
  options: RemoteOperatorOptions,
  said: Partial<Readonly<Record<(typeof OPTIONS)[number], string>>> = {},
): Omit<GatewayAccess, 'signal'> {
  const path = 'createRemoteOperator'
  rejectUnknownKeys(path, options, OPTIONS)
  const { url, token, timeoutMs = TIMEOUT_MS } = options
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol))
    throw new OptionInvalidError(
      said.url ?? `${path}.url`,
      "the URL of a gateway's admin listener, such as http://127.0.0.1:4401",
      url,
    )
  if (token !== undefined && !/^[\x21-\x7e]{1,500}$/.test(token))
    throw new OptionInvalidError(said.token ?? `${path}.token`, 'a token, as it was shown', token)
  requireInteger(`${path}.timeoutMs`, timeoutMs, { min: 1, max: 86_400_000 })
  return { url: new URL(url), token, timeoutMs }
}

interface Sent {
  readonly path?: Readonly<Record<string, string>>
  readonly query?: object
  readonly body?: object
}

type Answered<Name extends RouteName> = AnswerOf<(typeof ROUTES)[Name]['answer']>
/** What is refused is returned as it is where an operator does so. */
type Send = <Name extends RouteName>(name: Name, given?: Sent) => Promise<Answered<Name>>

async function sendTo<Name extends RouteName>(
  access: GatewayAccess,
  name: Name,
  { path = {}, query = {}, body = {} }: Sent,
): Promise<Answered<Name>> {
  const route: Route = ROUTES[name]
  const called = await callGateway(access, {
    method: route.method,
    path: `${fillPath(route, path)}${writeQuery(route, query)}`,
    ...(route.method === 'POST' && { body: writeBody(route, body) }),
  })
  if (called.status === 'missing') return undefined as Answered<Name>
  if (called.status === 'refused') {
    const { type: _type, title: _title, status: _status, detail: reason, ...rest } = called.problem
    return { ...rest, status: 'refused', reason } as unknown as Answered<Name>
  }
  if (route.answer === 'bytes') return new Uint8Array(called.body) as Answered<Name>
  return readAnswer(route.answer, called.body) as Answered<Name>
}

function readAnswer(schema: z.ZodType, body: Buffer): unknown {
  const decoded = z.safeDecode(schema, JSON.parse(body.toString()))
  if (decoded.success) return decoded.data
  throw new HookonceError(
    'GATEWAY_FAILED',
    'The answer of the gateway cannot be read. Use the command in the version of the gateway',
  )
}

function writeQuery({ query: schema }: Route, given: object): string {
  if (schema === undefined) return ''
  const encoded = Object.entries(z.encode(schema, withoutUndefined(given)))
  const parameters = new URLSearchParams(
    encoded.map(([name, value]): [string, string] => [name, String(value)]),
  )
  return parameters.size === 0 ? '' : `?${parameters.toString()}`
}

function writeBody({ body: schema }: Route, given: object): string {
  return JSON.stringify(schema === undefined ? {} : z.encode(schema, withoutUndefined(given)))
}

function withoutUndefined(given: object): Record<string, never> {
  return Object.fromEntries(
    Object.entries(given).filter(([, value]) => value !== undefined),
  ) as Record<string, never>
}

function bindRoutes(send: Send, closing: AbortSignal): Operator {
  return {
    list: (query = {}) => send('list', { query: pageOf(query) }),
    failures: (query = {}) => send('failures', { query: pageOf(query) }),
    find: (what) => send('find', { query: { what } }),
    show: (eventId) => send('show', { path: { eventId } }),
    groups: (query = {}) => send('groups', { query }),
    stats: (query = {}) => send('stats', { query }),
    findUnfinished: () => send('findUnfinished'),
    findByIdempotencyKey: (key, cursor) => send('findByIdempotencyKey', { query: { key, cursor } }),
    findEvent: (eventId) => send('findEvent', { path: { eventId } }),
    findRequest: (eventId) => send('findRequest', { path: { eventId } }),
    listEventsByKey: (source, key, page = {}) =>
      send('listEventsByKey', { path: { source }, query: { key, ...page } }),
    countEvents: (source) => send('countEvents', { query: { source } }),
    listDead: (query = {}) => send('listDead', { query }),
    listRuns: (eventId, query = {}) => send('listRuns', { path: { eventId }, query }),
    listSteps: (eventId) => send('listSteps', { path: { eventId } }),
    retry: (eventId, body = {}) => send('retry', { path: { eventId }, body }),
    release: (eventId, body) => send('release', { path: { eventId }, body }),
    discard: (eventId, body) => send('discard', { path: { eventId }, body }),
    forget: (eventId, body = {}) => send('forget', { path: { eventId }, body }),
    erase: (eventId, body) => send('erase', { path: { eventId }, body }),
    replay: (eventId, { body, ...options }) => {
      const bytes = typeof body === 'string' ? new TextEncoder().encode(body) : body
      return send('replay', { path: { eventId }, body: { ...options, body: bytes } })
    },
    resolveStep: (eventId, step, decision, options = {}) =>
      send('resolveStep', { path: { eventId }, body: { step, decision, ...options } }),
    findMessage: (id) => send('findMessage', { path: { id } }),
    listMessages: ({ cursor, limit, ...filter } = {}) =>
      send('listMessages', {
        query: { cursor, limit, filter: textOf(formatMessageFilter(filter)) },
      }),
    retryMessage: (id, body = {}) => send('retryMessage', { path: { id }, body }),
    confirmMessage: (id, body = {}) => send('confirmMessage', { path: { id }, body }),
    discardMessage: (id, body = {}) => send('discardMessage', { path: { id }, body }),
    pause: (target, options = {}) => send('pause', { body: { target, ...options } }),
    resume: (target, options = {}) => send('resume', { body: { target, ...options } }),
    listPauses: () => send('listPauses'),
    listSecrets: (query = {}) => send('listSecrets', { query }),
    listAudit: (query = {}) => send('listAudit', { query }),
    prune: (body = {}) => send('prune', { body }),
    eraseWhere: (where, options) => send('eraseWhere', { body: { where, ...options } }),
    bulk: bindBulk(send, closing),
  }
}

function bindBulk(send: Send, closing: AbortSignal): Operator['bulk'] {
  const find: Operator['bulk']['find'] = (id) => send('findBulk', { path: { id } })
  return {
    plan: ({ filter, ...plan }) => {
      const isOfMessages = isMessageBulk(plan.action)
      const text = isOfMessages
        ? formatMessageFilter(filter as MessageFilter)
        : formatFilter(filter as EventFilter)
      return send('planBulk', { body: { ...plan, filter: text } })
    },
    run: async (id, body = {}) => {
      const run = (await send('runBulk', { path: { id }, body })) as ActionResult
      if (run.status === 'refused') return run
      return { status: 'done', ended: untilEnded(() => find(id), closing) }
    },
    find,
    list: (query = {}) => send('listBulks', { query }),
    abort: (id, body = {}) => send('abortBulk', { path: { id }, body }),
  }
}

const LOOK_MS = 200
const ERRORS_MAX = 10

/** The gateway runs it; here it is looked at until nothing is left. */
async function untilEnded(
  find: () => ReturnType<Operator['bulk']['find']>,
  closing: AbortSignal,
): Promise<BulkEnd> {
  let errors = 0
  while (!closing.aborted) {
    try {
      const bulk = await find()
      if (bulk?.state === 'aborted') return { status: 'aborted' }
      if (bulk === undefined || bulk.left === 0) return { status: 'finished' }
      errors = 0
    } catch (error) {
      errors += 1
      if (errors === ERRORS_MAX) return { status: 'failed', error }
    }
    await wait(LOOK_MS, undefined, { signal: closing }).catch(() => undefined)
  }
  return { status: 'stopped' }
}

function pageOf({ cursor, limit, ...filter }: EventQuery): object {
  return { cursor, limit, filter: textOf(formatFilter(filter)) }
}

/** Left out where it says nothing. */
function textOf(filter: string): string | undefined {
  return filter === '' ? undefined : filter
}

/**
 * What arguments cannot be meant is known to the operator beside a store, and it says so before it opens the store. So
 * one on a store that never opens is asked first: no rule is written a second time, and none can differ.
 */
function createChecker(): StandaloneOperator {
  const store = {
    events: { record: () => undefined },
    open: () => Promise.reject(new ArgumentsAreFine()),
    close: () => Promise.resolve(),
  }
  return createOperator({ store: store as unknown as Store<unknown> })
}

class ArgumentsAreFine extends Error {}

type AnyMethods = Readonly<Record<string, unknown>>

function checkFirst<Methods extends object>(
  remote: Methods,
  checker: AnyMethods | object,
): Methods {
  const entries = Object.entries(remote).map(([name, method]: [string, unknown]) => {
    const check = (checker as AnyMethods)[name]
    if (name === 'close') return [name, method]
    if (typeof method !== 'function') return [name, checkFirst(method as object, check as object)]
    return [name, checked(method as AnyMethod, check as AnyMethod)]
  })
  return Object.assign(
    Object.create(null) as object,
    remote,
    Object.fromEntries(entries),
  ) as Methods
}

type AnyMethod = (...args: unknown[]) => Promise<unknown>

function checked(method: AnyMethod, check: AnyMethod): AnyMethod {
  return async (...args) => {
    await check(...args).catch((error: unknown) => {
      if (!(error instanceof ArgumentsAreFine)) throw error
    })
    return method(...args)
  }
}
