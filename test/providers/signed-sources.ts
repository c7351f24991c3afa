import { createHmac } from 'node:crypto'
import type { Delivery } from '../../src/model/delivery.ts'
import type { Source, Verdict } from '../../src/model/source.ts'
import { github, hmac, shopify, standardWebhooks, stripe } from '../../src/providers/index.ts'
import type { HmacOptions, Secret } from '../../src/providers/index.ts'
import { sign } from '../../src/testing/index.ts'

export const NOW = new Date(1_760_000_000_000)
export const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
export const OTHER_SECRET = 'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD'

export const HMAC_OPTIONS: HmacOptions = {
  header: 'x-signature',
  algorithm: 'sha512',
  encoding: 'base64url',
  prefix: 'v=',
  secrets: [SECRET],
  timestamp: { header: 'x-timestamp', format: 'milliseconds' },
  signed: '{header:x-id}:{timestamp}:{body}',
  key: 'header:x-id',
  type: 'json:$.type',
}

export interface SignedSource {
  readonly name: string
  /** The header with the signature. */
  readonly header: string
  readonly source: (secrets?: readonly Secret[]) => Source
  readonly deliver: (options?: {
    body?: string | Uint8Array
    at?: Date
    secret?: string
    key?: string
  }) => Delivery
}

/** The five sources, each with a correctly signed delivery to spoil. */
export const SIGNED_SOURCES: readonly SignedSource[] = [
  {
    name: 'stripe',
    header: 'stripe-signature',
    source: (secrets = [SECRET]) => stripe({ secrets }),
    deliver: ({ secret = SECRET, ...event } = {}) =>
      sign('stripe', { at: NOW, ...event }, { secret }),
  },
  {
    name: 'github',
    header: 'x-hub-signature-256',
    source: (secrets = [SECRET]) => github({ secrets }),
    deliver: ({ secret = SECRET, ...event } = {}) =>
      sign('github', { at: NOW, ...event }, { secret }),
  },
  {
    name: 'shopify',
    header: 'x-shopify-hmac-sha256',
    source: (secrets = [SECRET]) => shopify({ secrets }),
    deliver: ({ secret = SECRET, ...event } = {}) =>
      sign('shopify', { at: NOW, ...event }, { secret }),
  },
  {
    name: 'standardWebhooks',
    header: 'webhook-signature',
    source: (secrets = [SECRET]) => standardWebhooks({ secrets }),
    deliver: ({ secret = SECRET, ...event } = {}) =>
      sign('standardWebhooks', { at: NOW, ...event }, { secret }),
  },
  {
    name: 'hmac',
    header: 'x-signature',
    source: (secrets = [SECRET]) => hmac({ ...HMAC_OPTIONS, secrets }),
    deliver: ({ secret = SECRET, ...event } = {}) =>
      sign('hmac', { key: 'e1', at: NOW, ...event }, { ...HMAC_OPTIONS, secrets: [secret] }),
  },
]

/** Sources whose timestamp is signed, with a delivery signed over whatever text stands for the time. */
export const TIMED_SOURCES: readonly {
  readonly name: string
  readonly source: () => Source
  readonly deliverAt: (timestamp: string) => Delivery
}[] = [
  {
    name: 'stripe',
    source: () => stripe({ secrets: [SECRET] }),
    deliverAt: (timestamp) => {
      const signature = createHmac('sha256', SECRET).update(`${timestamp}.{}`).digest('hex')
      return delivery({ 'stripe-signature': `t=${timestamp},v1=${signature}` })
    },
  },
  {
    name: 'standardWebhooks',
    source: () => standardWebhooks({ secrets: [SECRET] }),
    deliverAt: (timestamp) => {
      const key = Buffer.from(SECRET.slice(6), 'base64')
      const signature = createHmac('sha256', key).update(`msg_1.${timestamp}.{}`).digest('base64')
      return delivery({
        'webhook-id': 'msg_1',
        'webhook-timestamp': timestamp,
        'webhook-signature': `v1,${signature}`,
      })
    },
  },
  {
    name: 'hmac',
    source: () =>
      hmac({
        header: 'x-signature',
        algorithm: 'sha256',
        encoding: 'hex',
        secrets: [SECRET],
        timestamp: { header: 'x-timestamp', format: 'seconds' },
        signed: '{timestamp}.{body}',
        key: 'json:$.id',
      }),
    deliverAt: (timestamp) => {
      const signature = createHmac('sha256', SECRET).update(`${timestamp}.{}`).digest('hex')
      return delivery({ 'x-signature': signature, 'x-timestamp': timestamp })
    },
  },
]

export function delivery(headers: Delivery['headers'], body: string | Uint8Array = '{}'): Delivery {
  return { method: 'POST', url: '/', headers, body: Buffer.from(body as string), receivedAt: NOW }
}

/** The same delivery with some headers replaced, or taken away. */
export function withHeaders(
  from: Delivery,
  headers: Record<string, string | readonly string[] | undefined>,
): Delivery {
  const entries = Object.entries({ ...from.headers, ...headers }).filter(
    ([, value]) => value !== undefined,
  )
  return { ...from, headers: Object.fromEntries(entries) as Delivery['headers'] }
}

export function headerOf(from: Delivery, name: string): string {
  const value = from.headers[name]
  if (typeof value !== 'string') throw new Error(`no header ${name}`)
  return value
}

/** All of our sources answer at once; the contract also allows a promise. */
export function verdictOf(source: Source, one: Delivery): Verdict {
  const verdict = source.verify(one)
  if (verdict instanceof Promise) throw new Error('the verdict should not need waiting for')
  return verdict
}
