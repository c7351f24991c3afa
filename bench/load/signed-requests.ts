/**
 * A file of distinct, signed Stripe deliveries as raw HTTP requests, each of the same length, so that a
 * load generator finds the n-th by multiplication and computes nothing.
 *
 * Every server gets the same requests in the same order, none of them twice: a server that answers
 * faster must not get duplicates, which cost less, for it.
 *
 * @module
 */

import { createHmac } from 'node:crypto'
import { closeSync, openSync, writeSync } from 'node:fs'

export const STRIPE_SECRET = 'whsec_bench_0123456789abcdef0123456789abcdef'
const BODY_BYTES = 1024
const CHUNK = 2_000

export interface SignedRequests {
  readonly file: string
  readonly count: number
  readonly requestBytes: number
}

export function writeSignedRequests(file: string, count: number): SignedRequests {
  const handle = openSync(file, 'w')
  let requestBytes = 0
  try {
    for (let from = 0; from < count; from += CHUNK) {
      const requests: Buffer[] = []
      for (let index = from; index < Math.min(from + CHUNK, count); index += 1)
        requests.push(signRequest(index))
      requestBytes = requests[0]!.byteLength
      writeSync(handle, Buffer.concat(requests))
    }
  } finally {
    closeSync(handle)
  }
  return { file, count, requestBytes }
}

export function signRequest(index: number): Buffer {
  const { body, headers } = signedDelivery(index)
  const head = [
    'POST /in/stripe HTTP/1.1',
    'Host: bench',
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
    `Content-Length: ${body.byteLength}`,
  ]
  return Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`), body])
}

/** When the bench started. Servers take any age, so that a long run does not meet the time window. */
const SIGNED_AT = Math.floor(Date.now() / 1_000)

export function signedDelivery(index: number): { body: Buffer; headers: Record<string, string> } {
  const body = createBody(index)
  const signature = createHmac('sha256', STRIPE_SECRET)
    .update(`${SIGNED_AT}.`)
    .update(body)
    .digest('hex')
  return {
    body,
    headers: {
      'content-type': 'application/json; charset=utf-8',
      'user-agent': 'Stripe/1.0 (+https://stripe.com/docs/webhooks)',
      'stripe-signature': `t=${SIGNED_AT},v1=${signature}`,
    },
  }
}

export function eventIdOf(index: number): string {
  return `evt_${String(index).padStart(12, '0')}`
}

function createBody(index: number): Buffer {
  const event = {
    id: eventIdOf(index),
    object: 'event',
    api_version: '2026-01-28',
    created: SIGNED_AT,
    livemode: true,
    pending_webhooks: 1,
    type: 'invoice.paid',
    request: { id: null, idempotency_key: null },
    data: {
      object: {
        id: `in_${String(index).padStart(12, '0')}`,
        object: 'invoice',
        amount_paid: 1_000,
        currency: 'eur',
        customer: `cus_${String(index % 1_000).padStart(6, '0')}`,
        lines: [{ description: 'Seats', quantity: 3, amount: 1_000 }],
        note: '',
      },
    },
  }
  const missing = BODY_BYTES - Buffer.byteLength(JSON.stringify(event))
  event.data.object.note = 'x'.repeat(missing)
  return Buffer.from(JSON.stringify(event))
}
