import type { z } from 'zod'
import { describe, expect, expectTypeOf, test } from 'vitest'
import type {
  AdminConfig,
  DestinationConfig,
  EncryptionConfig,
  ForwardConfig,
  GatewayConfig,
  HandlerDefaultsConfig,
  LogConfig,
  ReceiveConfig,
  RelayConfig,
  RetentionConfig,
  WorkerConfig,
} from '../../src/gateway/config/config.ts'
import { configJsonSchema } from '../../src/gateway/config/schema.ts'
import type { configSchema } from '../../src/gateway/config/schema.ts'
import type { InboxOptions, SourceMap } from '../../src/index.ts'
import type { HttpDestinationOptions } from '../../src/outbox/http-destination.ts'
import type { RelayOptions } from '../../src/outbox/options.ts'
import type { ReceiveOptions } from '../../src/receive/options.ts'
import type { RetentionOptions } from '../../src/retention/options.ts'
import type { PostgresStoreOptions } from '../../src/store/postgres/options.ts'
import type { SqliteStoreOptions } from '../../src/store/sqlite/options.ts'
import type { HandlerDefaultOptions } from '../../src/work/handler-defaults.ts'
import type { WorkerOptions } from '../../src/work/options.ts'

/**
 * Where each option of the library is in a config, or why it is not there. The types make the compiler refuse a table
 * without an option that the library has.
 */
type Place = { readonly at: string } | { readonly not: string }
type Table<Options> = Readonly<Record<keyof Options & string, Place>>

const at = (path: string): Place => ({ at: path })
const not = (reason: string): Place => ({ not: reason })
const OF_GRACE = at('stopGraceMs')

const INBOX: Table<InboxOptions<SourceMap, unknown>> = {
  store: at('store'),
  sources: at('sources'),
  receive: at('receive'),
  worker: at('worker'),
  destinations: at('destinations'),
  handlerDefaults: at('handlerDefaults'),
  relay: at('relay'),
  retention: at('retention'),
  logger: at('log'),
  tracing: at('tracing'),
}

const RECEIVE: Table<ReceiveOptions> = {
  bodyBytesMax: at('receive.bodyBytesMax'),
  inFlightBytesMax: at('receive.inFlightBytesMax'),
  eventsMax: at('receive.eventsMax'),
  bodyTimeoutMs: at('receive.bodyTimeoutMs'),
  answerTimeoutMs: at('receive.answerTimeoutMs'),
  processedTimeoutMs: at('receive.processedTimeoutMs'),
  batchMax: at('receive.batchMax'),
  waitingMax: at('receive.waitingMax'),
  rememberMax: at('receive.rememberMax'),
}

const WORKER: Table<WorkerOptions> = {
  concurrency: at('worker.concurrency'),
  reserved: at('worker.reserved'),
  weights: at('worker.weights'),
  groupMax: at('worker.groupMax'),
  groupBudgetMs: at('worker.groupBudgetMs'),
  pollMs: at('worker.pollMs'),
  stepsMax: not('a gateway has no step handlers'),
  deadAfterMs: at('worker.deadAfterMs'),
  crashesMax: at('worker.crashesMax'),
  stopGraceMs: OF_GRACE,
  blockedMs: at('worker.blockedMs'),
}

const HANDLERS: Table<HandlerDefaultOptions> = {
  retry: at('handlerDefaults.retry'),
  timeoutMs: at('handlerDefaults.timeoutMs'),
  stepsTimeoutMs: not('a gateway has no step handlers'),
  order: not('`lane` of a forward says which events have an order'),
}

const RELAY: Table<RelayOptions> = {
  leaseMs: at('relay.leaseMs'),
  pollMs: at('relay.pollMs'),
  stopGraceMs: OF_GRACE,
}

const RETENTION: Table<RetentionOptions> = {
  keysDays: at('retention.keysDays'),
  doneDays: at('retention.doneDays'),
  skippedDays: at('retention.skippedDays'),
  discardedDays: at('retention.discardedDays'),
  deadDays: at('retention.deadDays'),
  attemptsDays: at('retention.attemptsDays'),
  stepsDays: at('retention.stepsDays'),
  deliveriesDays: at('retention.deliveriesDays'),
  messagesDays: at('retention.messagesDays'),
  auditDays: at('retention.auditDays'),
  daily: at('retention.daily'),
}

const DESTINATION: Table<HttpDestinationOptions> = {
  url: at('destinations.<name>.url'),
  secrets: at('destinations.<name>.secrets'),
  headers: at('destinations.<name>.headers'),
  allow: at('destinations.<name>.allowPrivate'),
  idleTimeoutMs: at('destinations.<name>.idleTimeoutMs'),
  resolve: not('names are resolved as the system does'),
  client: not('a gateway sends with undici'),
  schema: not('what is sent are the bytes of the sender, or what a transform makes of them'),
  keys: at('destinations.<name>.keys'),
  keyLifetimeMs: at('destinations.<name>.keyLifetimeMs'),
  onUncertain: at('destinations.<name>.onUncertain'),
  check: at('destinations.<name>.check'),
  concurrency: at('destinations.<name>.concurrency'),
  ratePerSecond: at('destinations.<name>.ratePerSecond'),
  timeoutMs: at('destinations.<name>.timeoutMs'),
  retry: at('destinations.<name>.retry'),
  sameAnswersMax: at('destinations.<name>.sameAnswersMax'),
  breakerFailures: at('destinations.<name>.breakerFailures'),
  breakerMs: at('destinations.<name>.breakerMs'),
  onDead: at('destinations.<name>.onDead'),
}

const POSTGRES: Table<PostgresStoreOptions> = {
  pool: at('store'),
  schema: not('the commands find the tables of a store by its URL alone'),
  migrate: at('migrate'),
  allowUnsafe: not('for tests'),
  tx: not('there are no handlers of a user that could be lent a transaction'),
  encryption: at('encryption'),
}

const SQLITE: Table<SqliteStoreOptions> = {
  migrate: at('migrate'),
  prefix: not('the commands find the tables of a store by its URL alone'),
  driver: not('the gateway takes the one that is there'),
  libsqlFolder: not('the gateway knows the folder that it installs into'),
  writeWaitMs: not('only gateways write to the file of a gateway'),
  tx: not('there are no handlers of a user that could be lent a transaction'),
  encryption: at('encryption'),
}

const TABLES = {
  createInbox: INBOX,
  receive: RECEIVE,
  worker: WORKER,
  handlerDefaults: HANDLERS,
  relay: RELAY,
  retention: RETENTION,
  httpDestination: DESTINATION,
  postgresStore: POSTGRES,
  sqliteStore: SQLITE,
}

/** What a gateway has beside its inbox, by the part in which it is said. */
const OF_THE_GATEWAY: Readonly<Record<string, readonly string[]>> = {
  '': ['roles', 'processes', 'admin'],
  receive: ['host', 'port', 'keepAliveTimeoutMs', 'withdrawMs'],
  worker: [],
  handlerDefaults: [],
  relay: [],
  retention: [],
  'destinations.<name>': ['unsigned'],
}

describe('the settings of a gateway', () => {
  test.each(Object.entries(TABLES))('have every option of %s, or a reason', (_name, table) => {
    const places = Object.values(table).flatMap((place) => ('at' in place ? [place.at] : []))
    const known = new Set(Object.keys(OF_THE_GATEWAY).flatMap(listSettings))

    expect(places.filter((place) => !known.has(place))).toEqual([])
  })

  test.each(Object.entries(OF_THE_GATEWAY))('have nothing without a purpose: "%s"', (part, own) => {
    const places = Object.values(TABLES)
      .flatMap((table) => Object.values(table))
      .flatMap((place) => ('at' in place ? [place.at] : []))
    const explained = new Set([
      ...places,
      ...own.map((key) => (part === '' ? key : `${part}.${key}`)),
    ])

    expect(listSettings(part).filter((setting) => !explained.has(setting))).toEqual([])
  })

  test('are those that an editor knows', () => {
    expectTypeOf<keyof GatewayConfig>().toEqualTypeOf<keyof Checked>()
    expectTypeOf<keyof ReceiveConfig>().toEqualTypeOf<keyof Part<'receive'>>()
    expectTypeOf<keyof WorkerConfig>().toEqualTypeOf<keyof Part<'worker'>>()
    expectTypeOf<keyof HandlerDefaultsConfig>().toEqualTypeOf<keyof Part<'handlerDefaults'>>()
    expectTypeOf<keyof AdminConfig>().toEqualTypeOf<keyof Part<'admin'>>()
    expectTypeOf<keyof EncryptionConfig>().toEqualTypeOf<keyof Part<'encryption'>>()
    expectTypeOf<keyof RelayConfig>().toEqualTypeOf<keyof Part<'relay'>>()
    expectTypeOf<keyof RetentionConfig>().toEqualTypeOf<keyof Part<'retention'>>()
    expectTypeOf<keyof LogConfig>().toEqualTypeOf<keyof Part<'log'>>()
    expectTypeOf<keyof DestinationConfig>().toEqualTypeOf<keyof Part<'destinations'>[string]>()
    expectTypeOf<keyof ForwardConfig>().toEqualTypeOf<keyof Exclude<Forward, string>>()
  })
})

type Checked = z.input<typeof configSchema>
type Part<Name extends keyof Checked> = NonNullable<Checked[Name]>
type Forward = NonNullable<Part<'sources'>[string]['forward']>[number]

interface Node {
  readonly properties?: Readonly<Record<string, Node>>
  readonly additionalProperties?: Node
}

/** The paths of what can be said in one part. */
function listSettings(part: string): readonly string[] {
  const steps = part === '' ? [] : part.split('.')
  const node = steps.reduce<Node>(
    (above, step) =>
      (step === '<name>' ? above.additionalProperties : above.properties?.[step]) ?? {},
    configJsonSchema(),
  )
  return Object.keys(node.properties ?? {}).map((key) => (part === '' ? key : `${part}.${key}`))
}
