/**
 * Requests signed or judged by the providers' own libraries and documents, and what each says of its
 * configuration.
 *
 * @module
 */

import { readFileSync } from 'node:fs'
import type { Delivery } from '../../src/model/delivery.ts'
import type { Source } from '../../src/model/source.ts'
import * as exported from '../../src/providers/index.ts'
import type { Provider } from '../../src/providers/index.ts'

export interface Vector {
  readonly id: string
  /** The provider's slug. */
  readonly provider: string
  readonly method: string
  /** Seconds since 1970. */
  readonly now: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly url?: string
  readonly expect: 'valid' | 'invalid'
  /** Where the provider's library looks at something else than the bytes: the safe answer. */
  readonly raw_bytes_expect?: 'valid' | 'invalid'
  readonly kind?: 'challenge'
  readonly scheme?: string
  readonly secret?: string
  readonly secret_secondary?: string
  readonly key_id?: string
  readonly public_key?: string
  readonly cert_pem?: string
  readonly jwk?: object
  readonly tolerance_s?: number
  readonly expect_response?: ExpectedAnswer
  readonly expected_response?: ExpectedAnswer
}

export interface ExpectedAnswer {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  readonly body_json?: unknown
}

export const VECTORS = JSON.parse(
  readFileSync(new URL('vectors.json', import.meta.url), 'utf8'),
) as readonly Vector[]

/** Every provider that is exported, by its slug. */
export const PROVIDERS: ReadonlyMap<string, Provider<object>> = new Map(
  Object.values(exported)
    .filter((value): value is typeof exported.stripe => 'definition' in value)
    .map((provider) => [provider.definition.provider, provider as Provider<object>]),
)

/**
 * The options a vector's provider takes, from what the vector has. Providers whose vectors say it in
 * words of their own have a line below.
 */
export function optionsOf(vector: Vector): object {
  const provider = requireProvider(vector)
  const own = OWN_OPTIONS[vector.provider]?.(vector)
  if (own !== undefined) return own
  const secrets = [valueOf(vector, 'secret'), vector.secret_secondary].filter((text) => text)
  const all: Readonly<Record<string, unknown>> = {
    secrets: secrets.length === 0 ? undefined : secrets,
    publicKey: valueOf(vector, 'public_key'),
    publicUrl: valueOf(vector, 'url'),
    certificate: valueOf(vector, 'cert_pem'),
    jwk: valueOf(vector, 'jwk'),
    toleranceSeconds: vector.tolerance_s,
  }
  const { optionNames } = provider.definition.verify
  return Object.fromEntries(
    Object.entries(all).filter(
      ([name, value]) => value !== undefined && optionNames.includes(name),
    ),
  )
}

/** The vector's own, or where it has none (handshakes often do not say) that of another of its provider. */
function valueOf<Name extends keyof Vector>(vector: Vector, name: Name): Vector[Name] | undefined {
  const others = VECTORS.filter(({ provider }) => provider === vector.provider)
  return [vector, ...others].map((one) => one[name]).find((value) => value)
}

const OWN_OPTIONS: Readonly<Record<string, (vector: Vector) => object | undefined>> = {
  // The secret of its handshake's vector is the token.
  meta: ({ kind, secret }) =>
    kind === 'challenge' ? { secrets: ['unused-app-secret'], verifyToken: secret } : undefined,
  // What its vectors call the secret is the id of the webhook.
  paypal: (vector) => ({
    webhookId: valueOf(vector, 'secret'),
    certificate: valueOf(vector, 'cert_pem'),
  }),
  pusher: (vector) => ({
    secrets: [valueOf(vector, 'secret') ?? ''],
    keys: [valueOf(vector, 'key_id') ?? ''],
  }),
}

export function sourceOf(vector: Vector): Source {
  return requireProvider(vector)(optionsOf(vector))
}

export function deliveryOf(vector: Vector): Delivery {
  const headers = Object.entries(vector.headers).map(([name, value]) => [name.toLowerCase(), value])
  const url = vector.url === undefined ? undefined : new URL(vector.url)
  return {
    method: vector.method,
    url: url === undefined ? '/' : url.pathname + url.search,
    headers: Object.fromEntries(headers) as Record<string, string>,
    body: Buffer.from(vector.body, 'utf8'),
    receivedAt: new Date(vector.now * 1000),
  }
}

function requireProvider({ provider }: Vector): Provider<object> {
  const found = PROVIDERS.get(provider)
  if (found === undefined) throw new Error(`no provider ${provider}`)
  return found
}
