/**
 * Deliveries written by hand, and what their events are known by.
 *
 * @module
 */

import { expect } from 'vitest'
import type { Delivery } from '../../src/model/delivery.ts'
import type { Source } from '../../src/model/source.ts'

export const AT = new Date(1_760_000_000_000)

export function deliver(
  body: string | object,
  headers: Record<string, string> = {},
  receivedAt = AT,
): Delivery {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  return { method: 'POST', url: '/', headers, body: Buffer.from(text), receivedAt }
}

/** The identities of a body's events, each as one text. */
export function keysOf(source: Source, body: string | object): readonly string[] {
  return source.identify(deliver(body)).map(({ key, scope }) => JSON.stringify([scope, key]))
}

export function expectOneKey(source: Source, ...bodies: readonly object[]): void {
  expect(new Set(bodies.flatMap((body) => keysOf(source, body))).size).toBe(1)
}

export function expectOwnKeys(source: Source, ...bodies: readonly object[]): void {
  expect(new Set(bodies.flatMap((body) => keysOf(source, body))).size).toBe(bodies.length)
}
