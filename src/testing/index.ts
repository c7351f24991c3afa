/** The public kit for tests. */

export { checkProvider, listProviderChecks } from './check-provider.ts'
export type { Finding } from './check-provider.ts'
export type { ProviderCheck, Problems } from './check-subject.ts'
export type { HandshakeCase, ProviderCase, Resign, Uncovered } from './provider-case.ts'
export { sign } from './sign.ts'
export type { SignableName, SignableProvider } from './sign.ts'
export type { SignedEvent } from './signed-event.ts'
export type {
  Configuration,
  Credentials,
  DeliveryDraft,
  FixtureContent,
  FixtureEvent,
  ProviderFixture,
} from './fixture.ts'
export { crashAt } from './kit/crash-each.ts'
export type { CrashEachOptions, CrashSubject } from './kit/crash-each.ts'
export type { Crash, CrashAt, CrashOptions } from './kit/crash-plan.ts'
export { CRASH_POINTS } from './kit/crash-points.ts'
export type { CrashPoint } from './kit/crash-points.ts'
export type { Delivered, DeliverOptions } from './kit/deliver.ts'
export { toFixture } from './kit/event-fixture.ts'
export type { EventFixture, FixtureSubject } from './kit/event-fixture.ts'
export type { HandlerRun } from './kit/handler-runs.ts'
export {
  expectDead,
  expectDone,
  expectEffectOnce,
  expectMadeOnce,
  expectSentOnce,
  hookonceMatchers,
} from './kit/matchers.ts'
export type { HookonceMatchers, MatcherResult } from './kit/matchers.ts'
export { outOfOrder } from './kit/out-of-order.ts'
export type { OrderSubject, Planned } from './kit/out-of-order.ts'
export type { FetchStub, HandlerTools, OutsideCall } from './kit/outside-calls.ts'
export type { GivenSource, SenderCredentials, SignDelivery, SourceFrom } from './kit/sender.ts'
export type { SentMessage, SinkAnswer } from './kit/sink.ts'
export type { TestBench } from './kit/test-bench.ts'
export type { TestClock, TimeSpan } from './kit/test-clock.ts'
export type { Execute } from './kit/test-database.ts'
export { testInbox } from './kit/test-inbox.ts'
export type { GivenSources, SourcesFrom, TestInbox, TestInboxOptions } from './kit/test-inbox.ts'
export type { EffectSubject, EndSubject } from './kit/judgements.ts'
