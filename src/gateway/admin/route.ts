/**
 * What a route of the admin API is: data that the server answers from, the client calls by, and OpenAPI is written
 * from.
 *
 * @module
 */

import type { z } from 'zod'
import type { Operator } from '../../index.ts'
import type { Role } from './roles.ts'

/** What a request says, checked. */
export interface Given<Query = unknown, Body = unknown> {
  /** By the names in the path. */
  readonly path: Readonly<Record<string, string>>
  readonly query: Query
  readonly body: Body
  /** What the audit calls the principal of the request. */
  readonly actor: (said: string | undefined) => string | undefined
}

/** One route. */
export interface Route {
  readonly method: 'GET' | 'POST'
  /** Below `/api/v1`, with `{name}` for what differs. */
  readonly path: string
  readonly role: Role
  /** One line, for the reference. */
  readonly summary: string
  readonly query?: z.ZodObject | undefined
  readonly body?: z.ZodObject | undefined
  /** What is answered; `bytes` for an answer that is not JSON. */
  readonly answer: z.ZodType | 'bytes'
  /** Whether there may be nothing of that name: 404. */
  readonly mayLack?: boolean
  /** Whether the operator may refuse it: 409, or 422 for want of a payload. */
  readonly mayRefuse?: boolean
  /** Whether its body may be as large as a delivery. */
  readonly takesPayload?: boolean
  /** Whether it takes something away, or has an effect a second time: a program asks a person before it. */
  readonly destroys?: boolean
  readonly call: (operator: Operator, given: Given<never, never>) => Promise<unknown>
}

type Output<Schema> = Schema extends z.ZodType ? z.output<Schema> : undefined

/** Says what a route is, so that `call` knows what it is given. */
export function route<
  Answer extends z.ZodType | 'bytes',
  Query extends z.ZodObject | undefined = undefined,
  Body extends z.ZodObject | undefined = undefined,
>(
  given: Omit<Route, 'query' | 'body' | 'answer' | 'call'> & {
    readonly query?: Query
    readonly body?: Body
    readonly answer: Answer
    readonly call: (
      operator: Operator,
      given: Given<Output<Query>, Output<Body>>,
    ) => Promise<AnswerOf<Answer> | Refused | undefined>
  },
): RouteOf<Answer, Query, Body> {
  return given as unknown as RouteOf<Answer, Query, Body>
}

/** A route with the types of what it takes and answers. */
export type RouteOf<Answer, Query, Body> = Omit<Route, 'answer' | 'query' | 'body'> & {
  readonly answer: Answer
  readonly query: Query
  readonly body: Body
}

/** What a route answers, as the operator returns it. */
export type AnswerOf<Answer> = Answer extends 'bytes'
  ? Uint8Array
  : Output<Answer> extends (infer Item)[]
    ? readonly Item[]
    : Output<Answer>

/** What an operator refuses has this. */
export interface Refused {
  readonly status: 'refused'
}
