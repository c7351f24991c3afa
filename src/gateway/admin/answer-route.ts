import { z } from 'zod'
import type { ActionRefused, Operator } from '../../index.ts'
import type { Asked } from './page.ts'
import { notFound, problemOfRefusal } from './problem.ts'
import type { Problem } from './problem.ts'
import { readBody, readQuery, readText } from './read-given.ts'
import type { Given, Route } from './route.ts'
import type { MatchedRoute } from './routes.ts'
import { sendBytes, sendJson } from './send-answer.ts'

/** The largest body of what says who, why and which. */
const BODY_BYTES_MAX = 262_144
const BODY_TIMEOUT_MS = 30_000

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
  const result = await route.call(operator(), given as Given<never, never>)
  if (result === undefined) return notFound()
  if (isRefused(result)) return problemOfRefusal(result)
  if (route.answer === 'bytes') sendBytes(response, result as Uint8Array)
  else sendJson(response, z.encode(route.answer, result))
  return undefined
}

/** In base64, a third longer. */
function bodyBytesMax({ takesPayload = false }: Route, payloadBytesMax: number): number {
  return BODY_BYTES_MAX + (takesPayload ? Math.ceil((payloadBytesMax * 4) / 3) : 0)
}

/** A name of a token has no slash in it, so that what a person says of themselves cannot pass for another token. */
function nameActor(tokenName: string | undefined, said: string | undefined): string | undefined {
  if (tokenName === undefined) return said
  return said === undefined ? tokenName : `${tokenName}/${said}`
}

function isRefused(result: unknown): result is ActionRefused {
  return typeof result === 'object' && (result as Partial<ActionRefused>).status === 'refused'
}
