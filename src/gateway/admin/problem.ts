/**
 * What went wrong, as RFC 9457 has it: `application/problem+json`, with a code of ours that can be matched on.
 *
 * @module
 */

import { STATUS_CODES } from 'node:http'
import { HookonceError, OptionInvalidError } from '../../errors.ts'
import type { ErrorCode } from '../../errors.ts'
import type { ActionRefused, RefusalCode } from '../../index.ts'
import { redactText } from '../../telemetry/redact-text.ts'

/** What became of a request that was not done. */
export interface Problem {
  readonly status: number
  /** Stable: of an error, of a refusal, or `NOT_FOUND`. */
  readonly code: ErrorCode | RefusalCode | 'NOT_FOUND'
  readonly detail: string
  readonly headers?: Readonly<Record<string, string>>
  /** More members: what to do instead, which option it was. */
  readonly more?: Readonly<Record<string, unknown>>
}

/** As it is sent. */
export interface ProblemDocument {
  readonly type: string
  readonly title: string
  readonly status: number
  readonly code: string
  readonly detail: string
  readonly [more: string]: unknown
}

export function writeProblem({ status, code, detail, more }: Problem): ProblemDocument {
  const title = STATUS_CODES[status] ?? 'Error'
  return { type: 'about:blank', title, status, code, detail, ...more }
}

/** The body that it would need is gone for good: no other state of the event would change that. */
const NO_BODY: readonly RefusalCode[] = ['PAYLOAD_ERASED', 'PAYLOAD_PRUNED']

/** An action that the operator refused: with why, and what to do instead. */
export function problemOfRefusal({ status: _, code, reason, ...more }: ActionRefused): Problem {
  return { status: NO_BODY.includes(code) ? 422 : 409, code, detail: reason, more }
}

export function notFound(): Problem {
  return { status: 404, code: 'NOT_FOUND', detail: 'There is nothing with this id.' }
}

/** A request that cannot be meant, or must not be followed. */
export function refuseRequest(
  status: number,
  detail: string,
  headers?: Problem['headers'],
): Problem {
  return { status, code: 'REQUEST_REFUSED', detail, ...(headers && { headers }) }
}

const STATUS: Readonly<Partial<Record<ErrorCode, number>>> = {
  OPTION_INVALID: 400,
  RESULT_INVALID: 400,
  INBOX_STOPPED: 503,
}

/** What was thrown. Of what was not foreseen nothing is told: it may name values, and the log has it. */
export function problemOfError(error: unknown): Problem {
  if (!(error instanceof HookonceError))
    return {
      status: 500,
      code: 'GATEWAY_FAILED',
      detail: 'The gateway could not answer. Its log says why.',
    }
  const { code, message, retryable } = error
  const status = STATUS[code] ?? (retryable ? 503 : 500)
  const option = error instanceof OptionInvalidError ? { option: error.option } : {}
  return { status, code, detail: redactText(message), more: { retryable, ...option } }
}
