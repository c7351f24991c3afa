import { OptionInvalidError } from '../errors.ts'
import { rejectUnknownKeys } from '../options/reject-unknown-keys.ts'
import type { SourceMap } from '../model/event-types.ts'
import { isSourceName } from '../model/source-name.ts'
import type { Source } from '../model/source.ts'
import type { StandardSchema } from '../model/standard-schema.ts'
import type { Tracing } from '../model/tracing.ts'
import type { Destination } from '../outbox/destination.ts'
import type { RelayOptions } from '../outbox/options.ts'
import { requireRoom, resolveReceiveOptions } from '../receive/options.ts'
import type { ReceiveOptions, ResolvedReceiveOptions } from '../receive/options.ts'
import { resolveRetention } from '../retention/options.ts'
import type { RetentionOptions, RetentionPolicy } from '../retention/options.ts'
import type { Store } from '../store/contract/store.ts'
import type { HappeningEmitter } from '../telemetry/emitter.ts'
import { resolveLogger } from '../telemetry/logger.ts'
import type { Logger } from '../telemetry/logger.ts'
import { requireHandlerDefaults } from '../work/handler-defaults.ts'
import type { HandlerDefaultOptions } from '../work/handler-defaults.ts'
import { resolveWorkerOptions } from '../work/options.ts'
import type { ResolvedWorkerOptions, WorkerOptions } from '../work/options.ts'
import { requireTracing } from './trace.ts'

/** What an inbox is made of. Only `store` and `sources` are needed. */
export interface InboxOptions<
  Sources extends SourceMap,
  Tx,
  Sql = Tx,
  Destinations extends readonly Destination[] = readonly Destination[],
> {
  /** Where events are kept: `sqliteStore(file)` or `postgresStore({ pool })`. One for each inbox, which closes it. */
  readonly store: Store<Sql, Tx>
  /** The senders, by the name their deliveries are routed with. None with `worker: false`, for `once` and `outbox` alone. */
  readonly sources: Sources
  /** What is admitted, and how long a delivery waits. Left out, the defaults of `ReceiveOptions`. */
  readonly receive?: ReceiveOptions
  /** How this process runs events; `false` for a process that only receives. Left out, the defaults of `WorkerOptions`. */
  readonly worker?: WorkerOptions | false
  /** Where messages can be sent: `httpDestination(name, …)`, `destination(name, …)`. Left out, nothing can be sent. */
  readonly destinations?: Destinations
  /** What handlers have that say nothing else. Left out, the defaults of `HandlerOptions` and `StepHandlerOptions`. */
  readonly handlerDefaults?: HandlerDefaultOptions<Sources>
  /** How this process sends messages; `false` for one that only writes them. Left out, the defaults of `RelayOptions`. */
  readonly relay?: RelayOptions | false
  /** How long things are kept. Left out, the defaults of `RetentionOptions`. */
  readonly retention?: RetentionOptions
  /** Gets a line for everything that happens. Left out, warnings and errors go to the console. */
  readonly logger?: Logger
  /** Makes spans: `openTelemetry(api)` of `hookonce/opentelemetry`. Left out, nothing is traced. */
  readonly tracing?: Tracing
}

/** The options of destinations and relay are resolved by the outbox, where they are known together. */
export interface ResolvedInboxOptions<Tx, Sql> {
  readonly store: Store<Sql, Tx>
  readonly sources: ReadonlyMap<string, Source>
  readonly receive: ResolvedReceiveOptions
  /** `undefined` in a process that only receives. */
  readonly worker: ResolvedWorkerOptions | undefined
  readonly destinations: readonly Destination[]
  readonly handlerDefaults: HandlerDefaultOptions
  readonly relay: RelayOptions | false
  readonly retention: RetentionPolicy
  readonly logger: Logger
  readonly tracing: Tracing | undefined
}

const OPTION_NAMES = [
  'store',
  'sources',
  'receive',
  'worker',
  'destinations',
  'handlerDefaults',
  'relay',
  'retention',
  'logger',
  'tracing',
]

/** @throws OptionInvalidError for an option that is unknown or cannot be used */
export function resolveInboxOptions<Sources extends SourceMap, Tx, Sql>(
  options: InboxOptions<Sources, Tx, Sql>,
): ResolvedInboxOptions<Tx, Sql> {
  if (typeof options !== 'object' || options === null) {
    throw new OptionInvalidError('createInbox', 'given an object with store and sources', options)
  }
  rejectUnknownKeys('createInbox', options, OPTION_NAMES)
  const store = requireStore(options.store)
  const sources = requireSources(options.sources, { mayBeNone: options.worker === false })
  const receive = resolveReceiveOptions(options.receive ?? {})
  requireRoom(sources, receive)
  return {
    store,
    sources,
    receive,
    worker: options.worker === false ? undefined : resolveWorkerOptions(options.worker ?? {}),
    logger: resolveLogger('createInbox.logger', options.logger),
    tracing: requireTracing(options.tracing),
    destinations: options.destinations ?? [],
    handlerDefaults: requireHandlerDefaults(options.handlerDefaults ?? {}),
    relay: options.relay ?? {},
    retention: resolveRetention(options.retention ?? {}, sources),
  }
}

function requireStore<Tx, Sql>(store: Store<Sql, Tx>): Store<Sql, Tx> {
  if (typeof store?.events?.record === 'function') return store
  throw new OptionInvalidError(
    'createInbox.store',
    'a store: sqliteStore(file) or postgresStore({ pool })',
    store,
  )
}

function requireSources(
  sources: SourceMap,
  { mayBeNone }: { readonly mayBeNone: boolean },
): ReadonlyMap<string, Source> {
  if (typeof sources !== 'object' || sources === null) {
    throw new OptionInvalidError('createInbox.sources', 'an object of sources by name', sources)
  }
  const entries = Object.entries(sources)
  for (const [name, source] of entries) {
    if (!isSourceName(name)) {
      throw new OptionInvalidError(
        `createInbox.sources.${name}`,
        'named with a-z, 0-9, - and _ only',
        name,
      )
    }
    if (typeof source?.verify !== 'function' || typeof source.identify !== 'function') {
      throw new OptionInvalidError(
        `createInbox.sources.${name}`,
        'a source, such as stripe({ secrets: […] })',
        source,
      )
    }
  }
  if (entries.length === 0 && !mayBeNone) {
    const expected = 'at least one source, or createInbox.worker false for a process with none'
    throw new OptionInvalidError('createInbox.sources', expected, sources)
  }
  return new Map(entries)
}

/** A type is the sender's text, and may be the name of anything that objects have. */
export function findSchema(source: Source | undefined, type: string): StandardSchema | undefined {
  const schemas = source?.schemas ?? {}
  return Object.hasOwn(schemas, type) ? schemas[type] : undefined
}

/** What the sources have to say against what they were given. */
export function reportWarnings(
  sources: ReadonlyMap<string, Source>,
  happenings: HappeningEmitter,
): void {
  for (const [name, { warnings }] of sources) {
    for (const warning of warnings) happenings.emit('source.warning', { source: name, warning })
  }
}

/** Deliveries are answered all the same, so that nothing else would tell that `start()` was forgotten. */
export function reportNotStarted(happenings: HappeningEmitter, isMissing: () => boolean): void {
  const report = ({ source }: { readonly source: string }): void => {
    if (isMissing()) happenings.emit('worker.not-started', { source, hint: NOT_STARTED })
  }
  happenings.on('delivery.accepted', report)
  happenings.on('delivery.revived', report)
}

const NOT_STARTED =
  'This process has handlers and was not started, so that they do not run: call inbox.start(), or inbox.runDue() in a function of a cloud, or give createInbox worker: false where another process runs them'
