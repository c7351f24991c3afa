import { describe, expectTypeOf, test } from 'vitest'
import type { EventMap, Source } from '../../src/model/source.ts'
import {
  github,
  hmac,
  shopify,
  standardWebhooks,
  stripe,
  unsigned,
} from '../../src/providers/index.ts'
import type {
  GithubPayload,
  ShopifyPayload,
  StandardWebhooksPayload,
  StripePayload,
} from '../../src/providers/index.ts'
import { sign } from '../../src/testing/index.ts'

type PayloadOf<S, Type extends string> =
  S extends Source<infer Events> ? (Type extends keyof Events ? Events[Type] : never) : never

const secrets = ['a-secret-of-more-than-16-bytes']
type MyEvents = { 'invoice.paid': { readonly total: number } }
const options = {
  header: 'x-s',
  algorithm: 'sha256',
  encoding: 'hex',
  secrets,
  key: 'json:$.id',
} as const

describe('a source carries the payloads of its events', () => {
  test('of any type, in the provider’s light shape', () => {
    const source = stripe({ secrets })
    expectTypeOf<PayloadOf<typeof source, 'invoice.paid'>>().toEqualTypeOf<StripePayload>()
    expectTypeOf<StripePayload['data']['object']['amount']>().toBeAny()
    const hub = github({ secrets })
    expectTypeOf<PayloadOf<typeof hub, 'push'>>().toEqualTypeOf<GithubPayload>()
    const shop = shopify({ secrets })
    expectTypeOf<PayloadOf<typeof shop, 'orders/paid'>>().toEqualTypeOf<ShopifyPayload>()
    const standard = standardWebhooks({ secrets })
    expectTypeOf<PayloadOf<typeof standard, 'a'>>().toEqualTypeOf<StandardWebhooksPayload>()
  })

  test('or as the caller says', () => {
    const source = stripe<MyEvents>({ secrets })
    expectTypeOf(source).toEqualTypeOf<Source<MyEvents>>()
    expectTypeOf<PayloadOf<typeof source, 'invoice.paid'>>().toEqualTypeOf<{
      readonly total: number
    }>()
    expectTypeOf<PayloadOf<typeof source, 'other'>>().toBeNever()
    expectTypeOf(hmac<MyEvents>(options)).toEqualTypeOf<Source<MyEvents>>()
  })

  test('or unknown, for a sender that was not described', () => {
    expectTypeOf(hmac(options)).toEqualTypeOf<Source>()
    expectTypeOf(unsigned({ verify: 'none', key: 'body' })).toEqualTypeOf<Source>()
    expectTypeOf<PayloadOf<Source, 'anything'>>().toBeUnknown()
  })

  test('and any source goes where a source is asked for', () => {
    expectTypeOf(stripe<MyEvents>({ secrets })).toExtend<Source>()
    expectTypeOf(github({ secrets })).toExtend<Source>()
  })
})

describe('options are checked when compiled', () => {
  test('secrets, key and verify are asked for', () => {
    // @ts-expect-error secrets are missing
    expectTypeOf(stripe).toBeCallableWith({})
    // @ts-expect-error the key is missing
    expectTypeOf(hmac).toBeCallableWith({
      header: 'x',
      algorithm: 'sha256',
      encoding: 'hex',
      secrets,
    })
    // @ts-expect-error verify is missing
    expectTypeOf(unsigned).toBeCallableWith({ key: 'body' })
    // @ts-expect-error 201 is not a status to choose
    expectTypeOf(stripe).toBeCallableWith({ secrets, status: 201 })
  })

  test('the kit takes a secret for a provider and the options of hmac for hmac', () => {
    // @ts-expect-error the secret is no part of the event
    sign('stripe', { secret: 'x' }, {})
    // @ts-expect-error hmac takes secrets
    sign('hmac', {}, { secret: 'x' })
  })
})
