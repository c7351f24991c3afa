import { describe, expect, test } from 'vitest'
import type { HandshakeResult } from '../../src/model/source.ts'
import { deliveryOf, PROVIDERS, sourceOf, VECTORS } from './vector.ts'
import type { ExpectedAnswer, Vector } from './vector.ts'

/**
 * Where our answer is meant to differ from the vector's. Stripe's library lets any future timestamp
 * in; the vector says that a stricter receiver may refuse it, and our window has two sides.
 */
const STRICTER: Readonly<Record<string, string>> = {
  'stripe-future-timestamp-sdk-accepts': 'stale',
}

/** Bodies that a provider signed for its documents, and that are no events. */
const NO_EVENTS: readonly string[] = [
  'circleci-valid-2',
  'circleci-valid-3',
  'circleci-valid-4',
  // A GET, as for a card; events come by POST.
  'hubspot-valid-5',
]

/** From which event on a batch is not signed: those are kept without a key, and not run. */
const UNSIGNED_FROM: Readonly<Record<string, number>> = { 'segment-valid-3': 1 }

const CHALLENGES = VECTORS.filter(
  ({ kind, method, expected_response: answer }) =>
    // A GET that wants to hear something is one as well; others carry events.
    kind === 'challenge' || method === 'HEAD' || (method === 'GET' && answer !== undefined),
)
const DELIVERIES = VECTORS.filter((vector) => !CHALLENGES.includes(vector))

describe('requests signed by the providers’ own libraries', () => {
  test('every vector is of a provider that exists', () => {
    const slugs = new Set(VECTORS.map(({ provider }) => provider))
    const missing = [...slugs].filter((slug) => !PROVIDERS.has(slug))

    expect(missing).toEqual([])
    expect(VECTORS).toHaveLength(217)
  })

  test.each(DELIVERIES.filter(({ id }) => !(id in STRICTER)))(
    '$id is judged as it says',
    async (vector) => {
      const verdict = await sourceOf(vector).verify(deliveryOf(vector))

      expect(verdict.ok ? 'valid' : 'invalid').toBe(vector.raw_bytes_expect ?? vector.expect)
    },
  )

  test.each(Object.entries(STRICTER))('%s is refused as %s', async (id, reason) => {
    const vector = VECTORS.find((one) => one.id === id)
    if (vector === undefined) throw new Error(`no vector ${id}`)

    expect(await sourceOf(vector).verify(deliveryOf(vector))).toEqual({ ok: false, reason })
  })

  test.each(
    DELIVERIES.filter(
      ({ id, expect: expected, expected_response: answer }) =>
        expected === 'valid' && answer === undefined && !NO_EVENTS.includes(id),
    ),
  )('$id is a handshake, or gives every event a key and a type', async (vector) => {
    const greeting = await handshake(vector)
    const events = greeting === undefined ? sourceOf(vector).identify(deliveryOf(vector)) : []

    expect(greeting !== undefined || events.length > 0).toBe(true)
    for (const [index, { key, type }] of events.entries()) {
      if (index >= (UNSIGNED_FROM[vector.id] ?? events.length)) expect(key).toBeUndefined()
      else expect(key).toMatch(/^.+$/)
      expect(type).toMatch(/^.+$/)
    }
  })

  test.each(CHALLENGES)('$id is answered as the provider asks', async (vector) => {
    const answer = await handshake(vector)

    if (vector.expect === 'invalid') expect(answer).toBe('refuse')
    else expectAnswer(answer, vector.expect_response ?? vector.expected_response ?? { status: 200 })
  })

  test.each(
    DELIVERIES.filter(
      ({ expected_response: answer, expect: expected }) =>
        answer?.body !== undefined && expected === 'valid',
    ),
  )('$id is answered with the body the provider wants', async (vector) => {
    const greeting = await handshake(vector)
    const { success } = sourceOf(vector)
    const expected = vector.expected_response as ExpectedAnswer

    if (greeting !== undefined) expectAnswer(greeting, expected)
    else if (typeof success.body === 'object') expect(success.body.text).toBe(expected.body)
    else expect([success.body, expected.body]).toEqual(['empty', ''])
  })
})

/** At the stage it belongs to, as admit() asks. */
async function handshake(vector: Vector): Promise<HandshakeResult> {
  const source = sourceOf(vector)
  const delivery = deliveryOf(vector)
  const first = await source.handshake?.(delivery, 'unverified')
  if (first !== undefined) return first
  const verdict = await source.verify(delivery)
  return verdict.ok ? source.handshake?.(delivery, 'verified') : 'refuse'
}

function expectAnswer(answer: HandshakeResult, expected: ExpectedAnswer): void {
  if (answer === undefined || answer === 'refuse')
    throw new Error(`no answer, but ${String(answer)}`)
  expect(answer.status).toBe(expected.status)
  for (const [name, value] of Object.entries(expected.headers ?? {})) {
    expect(answer.headers[name]?.split(';')[0]).toBe(value)
  }
  if (expected.body !== undefined) expect(answer.body).toBe(expected.body)
  if (expected.body_json !== undefined) expect(JSON.parse(answer.body)).toEqual(expected.body_json)
}
