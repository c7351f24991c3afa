/**
 * What is kept of an error, in logs and beside a failed attempt: its name, message and code, where it was thrown,
 * and the same of its causes. Some libraries have the reason there alone.
 *
 * - Bounded: what a handler throws may be as long, as deep or as circular as it likes.
 * - Redacted (`redact-text.ts`), and of what an error carries beside these nothing: PostgreSQL puts values of rows
 *   into `detail`, and HTTP clients their headers into `config`.
 * - Total: what tells of a failure must not fail because of it.
 *
 * @module
 */

import { asError } from '../errors.ts'
import { redactText } from './redact-text.ts'

export interface DescribedError {
  readonly name: string
  readonly message: string
  readonly code?: string | number
  /** Where it was thrown, a line for each call, without the message. */
  readonly stack?: string
  readonly cause?: DescribedError
}

const CAUSES_MAX = 5
const FRAMES_MAX = 30
const FRAME_LENGTH_MAX = 300
/** Of a message, and of each text that is put together from several. */
const TEXT_LENGTH_MAX = 8_192

export function describeError(error: Error): DescribedError {
  return listErrors(error)
    .map(describeAlone)
    .reduceRight((cause, outer) => ({ ...outer, cause }))
}

/** Its name and message, as one text. */
export function describeMessage(error: Error): string {
  const { name, message } = describeAlone(error)
  return name === 'Error' ? message : cut(`${name}: ${message}`)
}

/** The causes as text, outermost first, a line each; `undefined` where there are none. */
export function describeCauses(error: Error): string | undefined {
  const [, ...causes] = listErrors(error).map(describeAlone)
  return causes.length === 0 ? undefined : cut(causes.map(asLine).join('\n'))
}

/** Where it and its causes were thrown, as one text. */
export function describeStack(error: Error): string | undefined {
  const [own, ...causes] = listErrors(error).map(describeAlone)
  const parts = [
    ...(own?.stack === undefined ? [] : [own.stack]),
    ...causes.flatMap((cause) => [
      `Caused by ${asLine(cause)}`,
      ...(cause.stack === undefined ? [] : [cause.stack]),
    ]),
  ]
  return parts.length === 0 ? undefined : cut(parts.join('\n'))
}

function asLine({ name, message, code }: DescribedError): string {
  return `${name}: ${message}${code === undefined ? '' : ` (${code})`}`
}

/** The error and its causes, each once. */
function listErrors(error: Error): readonly Error[] {
  const errors = [error]
  while (errors.length <= CAUSES_MAX) {
    const cause = findCause(errors.at(-1) as Error)
    if (cause === undefined || errors.includes(cause)) break
    errors.push(cause)
  }
  return errors
}

/** What it names as its cause, or the first of several errors that it stands for. */
function findCause(error: Error): Error | undefined {
  try {
    const errors = error instanceof AggregateError ? (error.errors as unknown) : undefined
    const thrown = error.cause ?? (Array.isArray(errors) ? (errors[0] as unknown) : undefined)
    if (thrown === undefined || thrown === null) return undefined
    const cause = asError(thrown)
    // Made of something that is no error: what can be said of that, it says itself.
    return cause.message === error.message && !(thrown instanceof Error) ? undefined : cause
  } catch {
    return undefined
  }
}

function describeAlone(error: Error): DescribedError {
  const code = read(() => (error as { readonly code?: unknown }).code)
  const stack = read(() => listFrames(error.stack))
  return {
    name: cut(redactText(error.name.slice(0, 200))),
    message: redactMessage(error.message),
    ...(typeof code === 'number' || typeof code === 'string' ? { code: cutCode(code) } : {}),
    ...(stack === undefined || stack === '' ? {} : { stack }),
  }
}

/** Cut before it is read, and again: what stands for a secret may be longer than the secret. */
function redactMessage(message: string): string {
  return cut(redactText(message.slice(0, 2 * TEXT_LENGTH_MAX)))
}

function cutCode(code: string | number): string | number {
  return typeof code === 'number' ? code : redactText(code.slice(0, 100))
}

/** A stack begins with the message, which may have lines of its own. */
function listFrames(stack: unknown): string | undefined {
  if (typeof stack !== 'string') return undefined
  const frames: string[] = []
  // Not split: of a stack that never ends only the first lines are looked at.
  for (const [, frame = ''] of stack.matchAll(/^\s{0,20}(at .{1,1000})$/gm)) {
    if (frames.push(redactText(frame.slice(0, FRAME_LENGTH_MAX))) >= FRAMES_MAX) break
  }
  return frames.join('\n')
}

function read<T>(get: () => T): T | undefined {
  try {
    return get()
  } catch {
    return undefined
  }
}

/** PostgreSQL's text cannot hold a NUL. */
function cut(text: string): string {
  return text.slice(0, TEXT_LENGTH_MAX).replaceAll('\u0000', '\ufffd')
}
