/** The public kit for tests. */

export { checkProvider, listProviderChecks } from './check-provider.ts'
export type { Finding } from './check-provider.ts'
export type { ProviderCheck, Problems } from './check-subject.ts'
export type {
  Configuration,
  HandshakeCase,
  ProviderCase,
  Resign,
  Uncovered,
} from './provider-case.ts'
export { sign } from './sign.ts'
export type { SignableName, SignableProvider } from './sign.ts'
export type { SignedEvent } from './signed-event.ts'
export type {
  Credentials,
  DeliveryDraft,
  FixtureContent,
  FixtureEvent,
  ProviderFixture,
} from './fixture.ts'
