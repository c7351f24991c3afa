import type { FixtureEvent, ProviderFixture } from './fixture.ts'
import { githubFixture } from './fixtures/github.ts'
import { shopifyFixture } from './fixtures/shopify.ts'
import { standardWebhooksFixture } from './fixtures/standard-webhooks.ts'
import { stripeFixture } from './fixtures/stripe.ts'
import type { SignedProvider } from './signed-delivery-options.ts'

/** The provider's fixture for that type; its first one for a type it has none for. */
export function samplePayload(
  kind: SignedProvider,
  event: FixtureEvent,
): Readonly<Record<string, unknown>> {
  const { events } = FIXTURES[kind]
  const create = Object.hasOwn(events, event.type) ? events[event.type] : Object.values(events)[0]
  return create?.(event).body as Readonly<Record<string, unknown>>
}

const FIXTURES: Readonly<Record<SignedProvider, ProviderFixture>> = {
  stripe: stripeFixture,
  github: githubFixture,
  shopify: shopifyFixture,
  standardWebhooks: standardWebhooksFixture,
}
