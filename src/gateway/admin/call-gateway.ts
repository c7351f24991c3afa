/**
 * One request to the admin API of a gateway, and what its answer means.
 *
 * With `node:http` and not `fetch`: a plan over a million events may take longer than the five minutes that `fetch`
 * waits for the first byte, and a path is sent as it is.
 *
 * @module
 */

import http from 'node:http'
import https from 'node:https'
import { ERROR_CODES, HookonceError, OptionInvalidError } from '../../errors.ts'
import type { ErrorCode } from '../../errors.ts'
import type { ProblemDocument } from './problem.ts'

/** Where a gateway is, and as whom it is asked. */
export interface GatewayAccess {
  readonly url: URL
  readonly token: string | undefined
  readonly timeoutMs: number
  readonly signal: AbortSignal
}

export interface Call {
  readonly method: 'GET' | 'POST'
  /** With its query. */
  readonly path: string
  readonly body?: string
}

/** An answer that is no failure. */
export type Called =
  | { readonly status: 'answered'; readonly body: Buffer }
  | { readonly status: 'missing' }
  | { readonly status: 'refused'; readonly problem: ProblemDocument }

/** @throws HookonceError with the code of the gateway's problem, or GATEWAY_UNAVAILABLE */
export async function callGateway(access: GatewayAccess, call: Call): Promise<Called> {
  const { status, type, body } = await exchange(access, call)
  // A proxy may answer for itself, with a page to log in for instance.
  if (status === 200 && OURS.test(type)) return { status: 'answered', body }
  const problem = type.startsWith('application/problem+json') ? readProblem(body) : undefined
  if (problem === undefined)
    throw new HookonceError(
      'GATEWAY_UNAVAILABLE',
      `${access.url.origin} answered ${status}, and not as the admin API of a gateway does. Check the URL and its port`,
    )
  if (problem.code === 'NOT_FOUND') return { status: 'missing' }
  if (status === 409 || status === 422) return { status: 'refused', problem }
  throw errorOf(problem)
}

const OURS = /^application\/(json|octet-stream)/

interface Exchanged {
  readonly status: number
  readonly type: string
  readonly body: Buffer
}

/** More than an answer of ours ever is. */
const ANSWER_BYTES_MAX = 512 * 1024 * 1024

function exchange(
  { url, token, timeoutMs, signal }: GatewayAccess,
  { method, path, body }: Call,
): Promise<Exchanged> {
  return new Promise((resolve, reject) => {
    const fail = (error: Error): void => reject(unreachable(url, error))
    const { request } = url.protocol === 'https:' ? https : http
    const sent = request(
      new URL(url.origin),
      {
        method,
        path: `${url.pathname.replace(/\/$/, '')}${path}`,
        timeout: timeoutMs,
        signal,
        headers: {
          ...(token !== undefined && { authorization: `Bearer ${token}` }),
          ...(body !== undefined && {
            'content-type': 'application/json',
            'content-length': Buffer.byteLength(body),
          }),
        },
      },
      (response) => {
        const chunks: Buffer[] = []
        let length = 0
        response.on('error', fail)
        response.on('data', (chunk: Buffer) => {
          length += chunk.byteLength
          if (length > ANSWER_BYTES_MAX) sent.destroy(new Error('the answer has no end'))
          else chunks.push(chunk)
        })
        response.on('end', () =>
          resolve({
            status: response.statusCode ?? 0,
            type: response.headers['content-type'] ?? '',
            body: Buffer.concat(chunks),
          }),
        )
      },
    )
    sent.on('error', fail)
    sent.on('timeout', () => sent.destroy(new Error(`no answer for ${timeoutMs} ms`)))
    sent.end(body)
  })
}

function unreachable(url: URL, cause: Error): HookonceError {
  const why = 'code' in cause ? String(cause.code) : cause.message
  return new HookonceError(
    'GATEWAY_UNAVAILABLE',
    `The gateway at ${url.origin} does not answer (${why}). Check that it runs with the role admin, and its URL`,
    { retryable: true, cause },
  )
}

function readProblem(body: Buffer): ProblemDocument | undefined {
  try {
    const parsed = JSON.parse(body.toString()) as Partial<ProblemDocument> | null
    return typeof parsed?.code === 'string' ? (parsed as ProblemDocument) : undefined
  } catch {
    return undefined
  }
}

/** The same as an operator beside the store would have thrown. */
function errorOf({ code, detail, option, retryable }: ProblemDocument): HookonceError {
  if (code === 'OPTION_INVALID' && typeof option === 'string')
    return new OptionInvalidError(option, { message: detail })
  const known = (ERROR_CODES as readonly string[]).includes(code)
  // A gateway of a later version may have more of them.
  const ours = known ? (code as ErrorCode) : 'GATEWAY_FAILED'
  return new HookonceError(ours, known ? detail : `${code}: ${detail}`, {
    retryable: retryable === true,
  })
}
