import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import type { Delivery } from '../../src/model/delivery.ts'
import type { Source } from '../../src/model/source.ts'
import { github, shopify, standardWebhooks, stripe } from '../../src/providers/index.ts'

interface Vector {
  readonly id: string
  readonly provider: string
  readonly method: string
  /** Seconds since 1970. */
  readonly now: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly expect: 'valid' | 'invalid'
  readonly raw_bytes_expect?: 'valid' | 'invalid'
  readonly secret?: string
  readonly public_key?: string
  readonly tolerance_s?: number
}

const VECTORS = JSON.parse(
  readFileSync(new URL('vectors.json', import.meta.url), 'utf8'),
) as readonly Vector[]

const SOURCES: Readonly<Record<string, (vector: Vector) => Source>> = {
  stripe: (vector) => stripe({ secrets: [requireSecret(vector)], ...tolerance(vector) }),
  github: (vector) => github({ secrets: [requireSecret(vector)] }),
  shopify: (vector) => shopify({ secrets: [requireSecret(vector)] }),
  standard_webhooks: (vector) =>
    vector.public_key === undefined
      ? standardWebhooks({ secrets: [requireSecret(vector)], ...tolerance(vector) })
      : standardWebhooks({ publicKey: vector.public_key, ...tolerance(vector) }),
}

/**
 * Where our answer is meant to differ from the vector's. Stripe's library lets any future timestamp
 * in; the vector says that a stricter receiver may refuse it, and our window has two sides.
 */
const STRICTER: Readonly<Record<string, string>> = {
  'stripe-future-timestamp-sdk-accepts': 'stale',
}

describe('requests signed by the providers’ own libraries', () => {
  test('every provider with a file of its own has vectors', () => {
    expect(new Set(VECTORS.map(({ provider }) => provider))).toEqual(new Set(Object.keys(SOURCES)))
  })

  test.each(VECTORS.filter(({ id }) => !(id in STRICTER)))(
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

  test.each(VECTORS.filter((one) => one.expect === 'valid'))(
    '$id gives an event a key and a type',
    (vector) => {
      const [event] = sourceOf(vector).identify(deliveryOf(vector))

      expect(event?.key).toMatch(/^.{10,}$/)
      expect(event?.type).toMatch(/^(invoice\.paid|ping|orders\/updated|contact\.created)$/)
    },
  )
})

function sourceOf(vector: Vector): Source {
  const make = SOURCES[vector.provider]
  if (make === undefined) throw new Error(`no source for ${vector.provider}`)
  return make(vector)
}

function deliveryOf(vector: Vector): Delivery {
  const headers = Object.entries(vector.headers).map(([name, value]) => [name.toLowerCase(), value])
  return {
    method: vector.method,
    url: '/',
    headers: Object.fromEntries(headers) as Record<string, string>,
    body: Buffer.from(vector.body, 'utf8'),
    receivedAt: new Date(vector.now * 1000),
  }
}

function requireSecret({ id, secret }: Vector): string {
  if (secret === undefined) throw new Error(`${id} has no secret`)
  return secret
}

function tolerance({ tolerance_s: seconds }: Vector): { toleranceSeconds?: number } {
  return seconds === undefined ? {} : { toleranceSeconds: seconds }
}
