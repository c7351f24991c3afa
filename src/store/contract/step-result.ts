/**
 * From what a step, or work that runs once, returned to the text that is kept, and back.
 *
 * A retry gets what was kept, so that what cannot be kept whole is refused when it is returned, with the path
 * of what is wrong: JSON would make `null` of a NaN, text of a Date and nothing of a Map, without a word.
 *
 * What survives is kept, however awkward to a database: a step need not return anything, and NUL and lone
 * surrogates, which PostgreSQL's text cannot hold, are escapes in JSON's.
 *
 * @module
 */

import { HookonceError } from '../../errors.ts'

/** Of JSON text. What is larger belongs into a table of yours. */
export const STEP_RESULT_LENGTH_MAX = 1_048_576
const DEPTH_MAX = 200

/**
 * `undefined` is kept as nothing, and comes back as `undefined`.
 *
 * @throws HookonceError RESULT_INVALID
 */
export function stringifyStepResult(step: string, value: unknown): string | undefined {
  return stringifyResult(`step ${JSON.stringify(step)}`, value, 'write it in a step.tx')
}

/** The same of work that runs once in a transaction of the user's. */
export function stringifyOnceResult(value: unknown): string | undefined {
  return stringifyResult('inbox.once', value, 'write it to a table of yours')
}

function stringifyResult(of: string, value: unknown, advice: string): string | undefined {
  if (value === undefined) return undefined
  const text = writeJson(of, value)
  if (text.length <= STEP_RESULT_LENGTH_MAX) return text
  throw invalid(
    of,
    `it is longer than ${STEP_RESULT_LENGTH_MAX} characters of JSON; ${advice} and return its id`,
  )
}

function writeJson(of: string, value: unknown): string {
  let flaw: string | undefined
  try {
    flaw = findFlaw(value, 'result', { parents: [], seen: { count: 0 } })
    if (flaw === undefined) return JSON.stringify(value)
  } catch (error) {
    // A proxy, or a getter that throws.
    throw invalid(of, 'it cannot be read', error)
  }
  throw invalid(of, flaw)
}

export function parseStepResult(text: string | undefined): unknown {
  return text === undefined ? undefined : JSON.parse(text)
}

/** Where a value is, in the result that it is part of. */
interface Place {
  readonly parents: readonly object[]
  /** How many values were looked at so far: a list may say that it has no end. */
  readonly seen: { count: number }
}

function findFlaw(value: unknown, path: string, place: Place): string | undefined {
  // Each of them takes a character at least.
  place.seen.count += 1
  if (place.seen.count > STEP_RESULT_LENGTH_MAX)
    return `it is longer than ${STEP_RESULT_LENGTH_MAX} characters of JSON`
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return undefined
    case 'number':
      return Number.isFinite(value) ? undefined : `${path} is ${String(value)}, which JSON has not`
    case 'object':
      return value === null ? undefined : findFlawIn(value, path, place)
    case 'undefined':
      return `${path} is undefined, which JSON makes null`
    default:
      return `${path} is a ${typeof value}, which JSON has not; return it as text`
  }
}

function findFlawIn(value: object, path: string, { parents, seen }: Place): string | undefined {
  if (parents.includes(value)) return `${path} is one of the objects that it is in`
  if (parents.length >= DEPTH_MAX) return `${path} is nested more than ${DEPTH_MAX} deep`
  const inner = { parents: [...parents, value], seen }
  if (Array.isArray(value)) {
    for (let at = 0; at < value.length; at += 1) {
      const flaw = findFlaw(value[at], `${path}[${at}]`, inner)
      if (flaw !== undefined) return flaw
    }
    return undefined
  }
  const prototype: unknown = Object.getPrototypeOf(value)
  const isPlain =
    prototype === null ||
    prototype === Object.prototype ||
    // From another realm, such as a test runner's.
    Object.getPrototypeOf(prototype) === null
  if (!isPlain || 'toJSON' in value) {
    const kind = value.constructor?.name ?? 'object'
    return `${path} is a ${kind}, which would not come back as one; return its plain values`
  }
  for (const [key, each] of Object.entries(value)) {
    // A property that is undefined is read as undefined whether it is kept or not.
    if (each === undefined) continue
    const flaw = findFlaw(each, `${path}.${key}`, inner)
    if (flaw !== undefined) return flaw
  }
  return undefined
}

function invalid(of: string, flaw: string, cause?: unknown): HookonceError {
  return new HookonceError('RESULT_INVALID', `The result of ${of} cannot be kept: ${flaw}`, {
    cause,
  })
}
