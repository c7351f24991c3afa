/** The public kit for tests. */

export { sign } from './sign.ts'
export type { SignableName, SignableProvider, SignedEvent } from './sign.ts'
export type {
  Credentials,
  DeliveryDraft,
  FixtureContent,
  FixtureEvent,
  ProviderFixture,
} from './fixture.ts'
export { signedDelivery } from './signed-delivery.ts'
export type {
  SignedDeliveryOptions,
  SignedHmacDeliveryOptions,
  SignedProvider,
} from './signed-delivery-options.ts'
