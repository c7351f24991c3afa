/**
 * Hookonce takes webhooks in and makes each one take effect once.
 *
 * @module
 */

export { createInbox } from './inbox/inbox.ts'
export type { Inbox } from './inbox/inbox.ts'
export type { InboxOptions } from './inbox/options.ts'
export type { DueRun, RunDueOptions } from './inbox/run-due.ts'
export type { HandlerFunction, StepHandlerFunction } from './inbox/handler-types.ts'
export type { SourceMap } from './model/event-types.ts'
export type { ActionOptions, ReasonedActionOptions, ReplayOptions } from './admin/action-options.ts'
export type { ActionRefused, ActionResult, EventActionResult } from './admin/action-result.ts'
export { createOperator } from './admin/create-operator.ts'
export type { CreateOperatorOptions, StandaloneOperator } from './admin/create-operator.ts'
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
export type { LaneName, PauseTarget } from './admin/pause-target.ts'
export type {
  BulkOperator,
  BulkRun,
  BulkRunOptions,
  ListBulksQuery,
} from './admin/bulk-operator.ts'
export type { ListAuditQuery, ListRunsQuery, PageQuery } from './admin/require-arguments.ts'
export type { BulkPlan, MessageBulkPlan, PlannedBulk } from './admin/plan-bulk.ts'
export type { BulkEnd } from './admin/bulk-runner.ts'
export type { CollectedStats, StatsQuery } from './admin/collect-stats.ts'
export type { EventFinder } from './admin/event-finder.ts'
export type { EventFilter, EventQuery, PayloadCondition } from './admin/event-query.ts'
export type { ErrorGroup, ErrorGroups, GroupQuery } from './admin/group-errors.ts'
export type { FailedLook, MissingEffect, ReconcileReport } from './admin/reconcile.ts'
export type { ReconcileOptions, ReconcileRerun } from './admin/reconcile-options.ts'
export type { EventPage } from './admin/list-events.ts'
export type { MessagePage } from './admin/list-messages.ts'
export type { MessageFilter, MessageQuery } from './admin/message-query.ts'
export type { ShownEvent, ShownRun } from './admin/show-event.ts'
export type { EraseWhere, EraseWhereResult } from './admin/erase-where.ts'
export type {
  EraseWhereOptions,
  PruneOptions,
  PruneResult,
  RetentionOperator,
} from './admin/retention-operator.ts'
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
  UnreadableError,
} from './errors.ts'
export type { ErrorCode } from './errors.ts'
export type { Acknowledgement, AcknowledgementOutcome } from './model/acknowledgement.ts'
export type { Delivery, DeliveryHeaders } from './model/delivery.ts'
export { ACTION_RULES, EVENT_ACTIONS, REFUSAL_CODES } from './model/event-action.ts'
export type { EventAction, RefusalCode } from './model/event-action.ts'
export type {
  BulkAction,
  BulkId,
  BulkRecord,
  BulkState,
  BulkTerms,
  EventBulkAction,
  MessageBulkAction,
} from './model/bulk.ts'
export { EVENT_STATES, PARKED_STATES, SETTLED_STATES, TRANSITIONS } from './model/event-state.ts'
export type { EventState, ParkedState, SettledState } from './model/event-state.ts'
export type {
  DeliveriesOfMinute,
  EventBeside,
  EventStory,
  IdempotencyKeyUses,
  IdempotentStep,
  RunStory,
  StepStory,
} from './model/event-story.ts'
export type { EventSummary } from './model/event-summary.ts'
export type { EventId, WebhookEvent } from './model/event.ts'
export type {
  LeftRunning,
  UncertainMessages,
  Unfinished,
  UnfinishedLanes,
  WentBack,
} from './model/unfinished.ts'
export { MESSAGE_STATES, MESSAGE_TRANSITIONS } from './model/message-state.ts'
export type { MessageOutcomeState, MessageState } from './model/message-state.ts'
export type {
  Message,
  MessageDraft,
  MessageLane,
  MessageFailure,
  MessageFailureReason,
  MessageId,
  MessageRecord,
  MessageResponse,
  MessageSummary,
  RecordedMessageFailure,
  SendOptions,
} from './model/message.ts'
export type {
  Blocker,
  EventRecord,
  FailureReason,
  Outcome,
  PayloadState,
  RecordedFailure,
} from './model/outcome.ts'
export type { AnySends, NamedDestination, SendMap, SendsOf } from './model/sends.ts'
export type { Prober, ProbeReading } from './model/probe.ts'
export type { SecretLabel, SecretUse } from './model/secret-use.ts'
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
  LaneOrder,
  LatestOrder,
  OrderMode,
  NoOrder,
  OrderOptions,
  SequenceOrder,
} from './ordering/order.ts'
export type { Once, OnceResult } from './once/once.ts'
export type { OnceTerms } from './once/draft-once.ts'
export type { OnceContext } from './once/once-run.ts'
export { fromDrizzle } from './own-tx/from-drizzle.ts'
export type { DrizzleTransaction } from './own-tx/from-drizzle.ts'
export { fromKnex } from './own-tx/from-knex.ts'
export type { KnexTransaction } from './own-tx/from-knex.ts'
export { fromKysely } from './own-tx/from-kysely.ts'
export type { KyselyTransaction } from './own-tx/from-kysely.ts'
export { fromMikroOrm } from './own-tx/from-mikro-orm.ts'
export type { MikroOrmTransaction } from './own-tx/from-mikro-orm.ts'
export { fromPg } from './own-tx/from-pg.ts'
export type { PgTransaction } from './own-tx/from-pg.ts'
export { fromPostgresJs } from './own-tx/from-postgres-js.ts'
export type { PostgresJsTransaction } from './own-tx/from-postgres-js.ts'
export { fromPrisma } from './own-tx/from-prisma.ts'
export type { PrismaTransaction } from './own-tx/from-prisma.ts'
export { fromSequelize } from './own-tx/from-sequelize.ts'
export type { SequelizeLike } from './own-tx/from-sequelize.ts'
export { fromSqlite } from './own-tx/from-sqlite.ts'
export type { SqliteConnection } from './own-tx/from-sqlite.ts'
export { fromTypeorm } from './own-tx/from-typeorm.ts'
export type { TypeormTransaction } from './own-tx/from-typeorm.ts'
export type { OwnTx } from './store/contract/transaction.ts'
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
export type {
  Count,
  MessageStats,
  QueueStats,
  Rate,
  RunningStats,
  SourceStats,
  Stats,
  WorkerStats,
} from './model/stats.ts'
export type { OpenTransaction } from './model/open-transaction.ts'
export type { StepKind, StepRecord, StepState } from './model/step.ts'
export type { ReceiveOptions } from './receive/options.ts'
export type { RetentionDays, RetentionOptions } from './retention/options.ts'
export type { PruneCounts } from './store/contract/retention.ts'
export type { Store } from './store/contract/store.ts'
export type { MessageStore } from './store/contract/messages.ts'
export type { AuditRecord, PauseKind, RunRecord, SubjectKind } from './store/contract/operators.ts'
export type { PauseRecord } from './store/contract/pauses.ts'
export type { AnyHappeningListener, HappeningListener } from './telemetry/emitter.ts'
export type { HappeningName, Happenings } from './telemetry/happenings.ts'
export { consoleLogger } from './telemetry/logger.ts'
export type { LogFields, Logger, LogLevel } from './telemetry/logger.ts'
export type { HandlerContext } from './work/handler-context.ts'
export type { HandlerDefaultOptions, SourceOrders } from './work/handler-defaults.ts'
export type { TxBinding } from './store/contract/tx-binding.ts'
export type { Fetch, HandlerOptions, StepHandlerOptions } from './work/handler-options.ts'
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
export type { HandledTrace, SentTrace, Tracing } from './model/tracing.ts'
export { notDone, permanent, retryAfter, skip } from './model/handler-results.ts'
