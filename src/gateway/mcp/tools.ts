/**
 * The tools that a model is offered: one for each route of the admin API, under the name that the route has in the
 * reference, and with the schemas that OpenAPI is written from. There is no second list.
 *
 * What differs for a model, and why:
 *
 * - Every change needs a `reason`, and a `requestToken` where the route has one: a model cannot
 *   be asked later why it did something, and it repeats a call whose answer it lost.
 * - The audit knows who asks by the token of the connection. A model cannot act under another name.
 * - Lists are short, and bodies and headers are left out unless they are asked for: they are a stranger's text, and a
 *   model may take it for an order.
 *
 * @module
 */

import { z } from 'zod'
import { writeSchema } from '../admin/json-schema.ts'
import type { Json } from '../admin/json-schema.ts'
import type { Role } from '../admin/roles.ts'
import type { Route } from '../admin/route.ts'
import { listPathNames, ROUTES } from '../admin/routes.ts'

/** One tool. */
export interface Tool {
  readonly name: string
  readonly route: Route
  readonly role: Role
  readonly description: string
  /** What its arguments are checked with. */
  readonly takes: z.ZodObject
  /** The same as a model sees it. */
  readonly inputSchema: Json & { readonly type: 'object' }
  readonly annotations: ToolAnnotations
  /** Whether bodies and headers are in its answer: never, always, or where they are asked for. */
  readonly payload: 'none' | 'asked' | 'always'
}

/** What a client may tell a person about it. Hints: the role decides what is done. */
export interface ToolAnnotations {
  readonly readOnlyHint: boolean
  readonly destructiveHint: boolean
  readonly idempotentHint: boolean
}

/** How many a list has at most, and how many where nothing is said: a page of 100 would be cut. */
const LIMIT_MAX = 100
export const LIMIT = 20

/** Made once for a listener or a connection. */
export function createTools(): ReadonlyMap<string, Tool> {
  const routes: readonly (readonly [string, Route])[] = Object.entries(ROUTES)
  return new Map(routes.map(([name, route]) => [name, toolOf(name, route)]))
}

function toolOf(name: string, route: Route): Tool {
  const { method, role, body, destroys = false } = route
  const payload = payloadOf(route)
  const takes = z.strictObject({
    ...pathShape(route),
    ...queryShape(route),
    ...bodyShape(route),
    ...(payload === 'asked' && WITH_PAYLOAD),
  })
  return {
    name,
    route,
    role,
    description: describe(route, payload),
    takes,
    inputSchema: { ...writeSchema(takes), type: 'object' },
    annotations: {
      readOnlyHint: method === 'GET',
      destructiveHint: destroys,
      idempotentHint: method === 'GET' || body?.shape['token'] !== undefined,
    },
    payload,
  }
}

const WITH_PAYLOAD = {
  withPayload: z
    .boolean()
    .optional()
    .describe('Whether to show bodies and headers, which senders wrote. Left out: they are not.'),
}

/** Bytes are the bodies of senders and destinations, and nothing else. */
function payloadOf({ answer }: Route): Tool['payload'] {
  if (answer === 'bytes') return 'always'
  const hasBytes = JSON.stringify(writeSchema(answer)).includes('"contentEncoding":"base64"')
  return hasBytes ? 'asked' : 'none'
}

function describe({ summary, destroys = false }: Route, payload: Tool['payload']): string {
  return [
    `${summary}.`,
    ...(payload === 'asked'
      ? ['Bodies and headers are left out unless `withPayload` is true.']
      : []),
    ...(destroys ? ['It cannot be taken back: ask the person first.'] : []),
  ].join(' ')
}

function pathShape(route: Route): z.ZodRawShape {
  return Object.fromEntries(
    listPathNames(route).map(({ name, description }) => [name, z.string().describe(description)]),
  )
}

function queryShape({ query }: Route): z.ZodRawShape {
  const shape: z.ZodRawShape = query?.shape ?? {}
  if (shape['limit'] === undefined) return shape
  const limit = z.int().min(1).max(LIMIT_MAX).optional()
  return { ...shape, limit: limit.describe(`How many at most; ${LIMIT} if left out.`) }
}

function bodyShape({ body }: Route): z.ZodRawShape {
  const { actor: _actor, token, reason, ...rest } = (body?.shape ?? {}) as z.ZodRawShape
  return {
    ...rest,
    ...(reason && { reason: REASON }),
    ...(token && { requestToken: REQUEST_TOKEN }),
  }
}

const REASON = z.string().min(1).describe('Why. Kept in the audit, for people.')
const REQUEST_TOKEN = z
  .string()
  .min(1)
  .describe(
    'Stands for this one action: a text that you make up, such as a UUID. To repeat the call after a lost answer, say the same one: nothing happens twice. No password and no access token: the audit shows it.',
  )
