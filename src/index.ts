/**
 * Hookonce takes webhooks in and makes each one take effect once.
 *
 * @module
 */

export { createInbox } from './inbox/inbox.ts'
export type { Inbox } from './inbox/inbox.ts'
export type { InboxOptions } from './inbox/options.ts'
export type { HandlerFunction, StepHandlerFunction } from './inbox/handler-types.ts'
export type { SourceMap } from './model/event-types.ts'
export type { BackfillReport, MissingEvent } from './backfill/backfill.ts'
export type {
  BackfillClient,
  BackfillDelivery,
  BackfillEvent,
  BackfillPage,
  BackfillRequest,
} from './backfill/backfill-client.ts'
export type { BackfillOptions } from './backfill/backfill-options.ts'
export type { Operator, StepDecision } from './admin/operator.ts'
export {
  CommitUnknownError,
  DestinationBlockedError,
  ERROR_CODES,
  HookonceError,
  OptionInvalidError,
  RetentionTooShortError,
  StoreFileChangedError,
  StoreRejectedError,
  StoreUnavailableError,
} from './errors.ts'
export type { ErrorCode } from './errors.ts'
export type { Acknowledgement, AcknowledgementOutcome } from './model/acknowledgement.ts'
export type { Delivery, DeliveryHeaders } from './model/delivery.ts'
export { EVENT_STATES, PARKED_STATES, SETTLED_STATES, TRANSITIONS } from './model/event-state.ts'
export type { EventState, ParkedState, SettledState } from './model/event-state.ts'
export type { EventId, WebhookEvent } from './model/event.ts'
export { MESSAGE_STATES, MESSAGE_TRANSITIONS } from './model/message-state.ts'
export type { MessageOutcomeState, MessageState } from './model/message-state.ts'
export type {
  Message,
  MessageDraft,
  MessageFailure,
  MessageFailureReason,
  MessageId,
  MessageRecord,
  MessageResponse,
  RecordedMessageFailure,
  SendOptions,
} from './model/message.ts'
export type {
  Blocker,
  EventRecord,
  FailureReason,
  Outcome,
  RecordedFailure,
} from './model/outcome.ts'
export type { QuarantineReason } from './model/quarantine-reason.ts'
export type {
  AcknowledgePolicy,
  AnyEvents,
  BelievedVerdict,
  EventMap,
  EventsByType,
  ExactBody,
  HandshakeAnswer,
  HandshakeResult,
  HandshakeStage,
  Identified,
  IdentifiedEvent,
  IdentifyLimits,
  RedeliveryPolicy,
  RefusalAnswer,
  SameBytesPolicy,
  Source,
  SourceOptions,
  SuccessAnswer,
  Verdict,
  VerdictReason,
} from './model/source.ts'
export type {
  AfterOrder,
  FifoOrder,
  LatestOrder,
  OrderMode,
  OrderOptions,
  SequenceOrder,
} from './ordering/order.ts'
export { destination, notSent } from './outbox/destination.ts'
export type {
  Destination,
  SendContext,
  SendFailed,
  SendFunction,
  SendResult,
} from './outbox/destination.ts'
export { httpDestination } from './outbox/http-destination.ts'
export type { HttpDestinationOptions } from './outbox/http-destination.ts'
export type { CheckMessage, DestinationOptions, RelayOptions } from './outbox/options.ts'
export type { StepKind, StepRecord, StepState } from './model/step.ts'
export type { ReceiveOptions } from './receive/options.ts'
export type { Store } from './store/contract/store.ts'
export type { MessageStore, PausedDestination } from './store/contract/messages.ts'
export type { AnyHappeningListener, HappeningListener } from './telemetry/emitter.ts'
export type { HappeningName, Happenings } from './telemetry/happenings.ts'
export { consoleLogger } from './telemetry/logger.ts'
export type { LogFields, Logger, LogLevel } from './telemetry/logger.ts'
export type { HandlerContext } from './work/handler-context.ts'
export type { Fetch, HandlerOptions, StepHandlerOptions } from './work/handlers.ts'
export type { WorkerOptions } from './work/options.ts'
export type { RetryOptions } from './model/retry-policy.ts'
export type { StandardSchema } from './model/standard-schema.ts'
export type {
  CallOptions,
  Reconcile,
  Reconciled,
  StepCallContext,
  StepContext,
  StepTxContext,
  UncertainStep,
} from './work/steps/step-context.ts'
export { notDone, permanent, retryAfter, skip } from './model/handler-results.ts'
