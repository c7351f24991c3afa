import { createHash } from 'node:crypto'
import type { SignedProvider } from './signed-delivery-options.ts'

export interface SampleEvent {
  readonly key: string
  readonly type: string
  readonly at: Date
}

/** A payload in the shape the provider sends, small enough to read. */
export function samplePayload(
  kind: SignedProvider,
  event: SampleEvent,
): Readonly<Record<string, unknown>> {
  return SAMPLES[kind](event)
}

const SAMPLES: Readonly<Record<SignedProvider, (event: SampleEvent) => Record<string, unknown>>> = {
  stripe: ({ key, type, at }) => ({
    id: key,
    object: 'event',
    api_version: '2025-09-30.clover',
    created: Math.floor(at.getTime() / 1000),
    data: {
      object: {
        id: 'in_1Example00000000000000001',
        object: 'invoice',
        amount_due: 4200,
        amount_paid: 4200,
        currency: 'eur',
        customer: 'cus_Example00000001',
        status: 'paid',
      },
    },
    livemode: false,
    pending_webhooks: 1,
    request: { id: null, idempotency_key: null },
    type,
  }),
  github: ({ key, at }) => ({
    ref: 'refs/heads/main',
    before: '0'.repeat(40),
    // A commit of its own for each event: the same bytes under another id would be quarantined.
    after: commitOf(key),
    repository: { id: 1, name: 'example', full_name: 'example/example', private: false },
    pusher: { name: 'example', email: 'example@example.com' },
    sender: { login: 'example', id: 1, type: 'User' },
    head_commit: { id: commitOf(key), message: 'Say hello', timestamp: at.toISOString() },
  }),
  shopify: ({ key, at }) => ({
    id: 820982911946154,
    admin_graphql_api_id: 'gid://shopify/Order/820982911946154',
    // So that two sample orders differ, as two real ones do.
    checkout_token: key,
    currency: 'EUR',
    total_price: '199.00',
    financial_status: 'paid',
    updated_at: at.toISOString(),
  }),
  standardWebhooks: ({ type, at }) => ({
    type,
    timestamp: at.toISOString(),
    data: { id: '1f81eb52-5198-4599-803e-771906343485', email: 'contact@example.com' },
  }),
}

function commitOf(key: string): string {
  return createHash('sha1').update(key).digest('hex')
}
