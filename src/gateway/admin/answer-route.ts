import { z } from 'zod'
import type { Operator } from '../../index.ts'
import { callRoute } from './call-route.ts'
import type { Asked } from './page.ts'
import type { Problem } from './problem.ts'
import { readBody, readQuery, readText } from './read-given.ts'
import type { Given, Route } from './route.ts'
import type { MatchedRoute } from './routes.ts'
import { sendBytes, sendJson } from './send-answer.ts'

/** The largest body of what says who, why and which. */
const BODY_BYTES_MAX = 262_144
export const BODY_TIMEOUT_MS = 30_000

export interface AnswerTerms {
  /** The operator that is in use now. */
  readonly operator: () => Operator
  /** The largest body of a delivery: a replay may have one in its place. */
  readonly payloadBytesMax: number
}

/** Calls the operator, and answers what it returns. A problem is the caller's to send. */
export async function answerRoute(
  { operator, payloadBytesMax }: AnswerTerms,
  { route, path }: MatchedRoute,
  { request, response, url, principal }: Asked,
): Promise<Problem | undefined> {
  const query = readQuery(route.query, url.searchParams)
  const bytesMax = bodyBytesMax(route, payloadBytesMax)
  const text =
    route.method === 'GET' ? '' : await readText(request, { bytesMax, timeoutMs: BODY_TIMEOUT_MS })
  if (typeof text !== 'string') return text
  const body = route.method === 'GET' ? {} : readBody(route.body, text)
  const given: Given = { path, query, body, actor: (said) => nameActor(principal?.name, said) }
  const called = await callRoute(operator(), route, given)
  if (called.status === 'problem') return called.problem
  if (route.answer === 'bytes') sendBytes(response, called.result as Uint8Array)
  else sendJson(response, z.encode(route.answer, called.result))
  return undefined
}

/** In base64, a third longer. */
export function bodyBytesMax(
  { takesPayload = false }: Pick<Route, 'takesPayload'>,
  payloadBytesMax: number,
): number {
  return BODY_BYTES_MAX + (takesPayload ? Math.ceil((payloadBytesMax * 4) / 3) : 0)
}

/** A name of a token has no slash in it, so that what a person says of themselves cannot pass for another token. */
export function nameActor(
  tokenName: string | undefined,
  said: string | undefined,
): string | undefined {
  if (tokenName === undefined) return said
  return said === undefined ? tokenName : `${tokenName}/${said}`
}
