/**
 * How cases look at what they have found, in any runner: with `node:assert`, and with what that lacks.
 *
 * @module
 */

import assert from 'node:assert/strict'

/** Generous, because a busy machine is no mistake of the store's. */
const PATIENCE_MS = 30_000
const PAUSE_MS = 5

/** Whether what was found has at least this in it: lists have the same length, objects may have more. */
export function assertMatches(actual: unknown, expected: unknown, message?: string): void {
  assert.deepEqual(pick(actual, expected), expected, message)
}

export function assertAbove<Ordered extends number | bigint | string>(
  actual: Ordered | undefined,
  limit: Ordered | undefined,
): void {
  assert.ok(
    actual !== undefined && limit !== undefined && actual > limit,
    `${String(actual)} is not above ${String(limit)}`,
  )
}

export function assertAtLeast(actual: number | undefined, limit: number | undefined): void {
  assert.ok(
    actual !== undefined && limit !== undefined && actual >= limit,
    `${actual} is less than ${limit}`,
  )
}

/** For what a case cannot go on without. */
export function required<Value>(value: Value | undefined): Value {
  assert.ok(value !== undefined, 'something should have been there')
  return value
}

/** Tries until it does not throw, and throws the last error when it takes far too long. */
export async function eventually<Result>(attempt: () => Promise<Result>): Promise<Result> {
  const end = performance.now() + PATIENCE_MS
  for (;;) {
    try {
      return await attempt()
    } catch (error) {
      if (performance.now() > end) throw error
    }
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
  }
}

/** Of what was found, the part that is spoken of. */
function pick(actual: unknown, expected: unknown): unknown {
  if (Array.isArray(expected) && Array.isArray(actual))
    return actual.map((each: unknown, at) => (at in expected ? pick(each, expected[at]) : each))
  if (!isPlain(expected) || typeof actual !== 'object' || actual === null) return actual
  const found = actual as Readonly<Record<string, unknown>>
  return Object.fromEntries(
    Object.keys(expected).map((key) => [key, pick(found[key], expected[key])]),
  )
}

function isPlain(value: unknown): value is Readonly<Record<string, unknown>> {
  return (
    typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype
  )
}
