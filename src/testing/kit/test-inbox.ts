/**
 * An inbox for tests of handlers, in any runner: signed deliveries go in, effects come out, and in between the process
 * can die wherever the test says.
 *
 * Nothing runs by itself. What was delivered runs when the test calls `idle()`, so that a test waits for no timer and
 * sees the same each time.
 *
 * @module
 */

import { OptionInvalidError } from '../../errors.ts'
import type { Inbox } from '../../inbox/inbox.ts'
import type { InboxOptions } from '../../inbox/options.ts'
import { rejectUnknownKeys } from '../../options/reject-unknown-keys.ts'
import type { AnySends, SendMap, SendsOf } from '../../model/sends.ts'
import type { Destination } from '../../outbox/destination.ts'
import type { Store } from '../../store/contract/store.ts'
import type { SqliteTx } from '../../store/sqlite/index.ts'
import type { Logger } from '../../telemetry/logger.ts'
import type { FetchStub, HandlerTools } from './outside-calls.ts'
import type { GivenSource, SenderCredentials, SourceFrom } from './sender.ts'
import { makeSender } from './sender.ts'
import { ownDatabase, temporaryDatabase } from './test-database.ts'
import type { Execute } from './test-database.ts'
import { TestBench } from './test-bench.ts'

/** Sources, or providers whose secret is made up, by name. */
export type GivenSources = Readonly<Record<string, GivenSource>>

/** What a test is made of. Only `sources` and `handlers` are needed. */
export interface TestInboxOptions<
  Given extends GivenSources,
  Tx = SqliteTx,
  Sql = Tx,
  Destinations extends readonly Destination[] = readonly Destination[],
> {
  /** The senders by name: a provider such as `stripe`, whose secret is made up, or a source of yours. */
  readonly sources: Given
  /**
   * Registers the handlers. Called again after each death of the process, as your service would: what it keeps in
   * variables of its own is gone then.
   */
  readonly handlers: (
    inbox: Inbox<SourcesFrom<Given>, Tx, Sql, SendsOf<Destinations>>,
    tools: HandlerTools,
  ) => unknown
  /** Makes a store of yours, once for each process. Left out, a SQLite file in memory that is removed by `close()`. */
  readonly store?: () => Store<Sql, Tx>
  /** Runs a statement on your own database, which `clock` needs. Left out, `clock` works without `store` only. */
  readonly execute?: Execute
  /**
   * What the names of our tables begin with in your own database: a prefix, or a schema and a dot.
   *
   * @defaultValue 'hookonce_' on SQLite, 'hookonce.' on PostgreSQL
   */
  readonly tables?: string
  /** SQL that makes the tables of your handlers. Left out, there are none but ours. */
  readonly setup?: string
  /** Called when the inbox is closed: ends your pool, drops your database. Left out, nothing of yours is touched. */
  readonly onClose?: () => unknown
  /** What the sources sign with that are no providers, by name. Left out, only those of providers can be delivered. */
  readonly credentials?: Readonly<Partial<Record<keyof Given & string, SenderCredentials>>>
  /** Your destinations. What is sent to them is written down and does not leave. Left out, nothing can be sent. */
  readonly destinations?: Destinations
  /** Answers what handlers fetch, which is written down. Left out, `fetch` is as it is. */
  readonly fetch?: FetchStub
  /** What handlers have that say nothing else. Left out, the defaults of `createInbox`. */
  readonly handlerDefaults?: InboxOptions<SourcesFrom<Given>, Tx, Sql>['handlerDefaults']
  /** What is admitted. Left out, the defaults of `createInbox`. */
  readonly receive?: InboxOptions<SourcesFrom<Given>, Tx, Sql>['receive']
  /** How long things are kept, for `prune`. Left out, the defaults of `createInbox`. */
  readonly retention?: InboxOptions<SourcesFrom<Given>, Tx, Sql>['retention']
  /** Gets what the inbox says. Left out, it is kept, and a failed check shows what is of use. */
  readonly logger?: Logger
}

/** The sources of an inbox, from what the test was given. */
export type SourcesFrom<Given extends GivenSources> = {
  readonly [Name in keyof Given]: SourceFrom<Given[Name]>
}

/** The inbox of a test. */
export type TestInbox<
  Sources extends GivenSources = GivenSources,
  Tx = unknown,
  Sql = Tx,
  Sends extends SendMap = AnySends,
> = TestBench<SourcesFrom<Sources>, Tx, Sql, Sends>

const OPTION_NAMES = [
  'sources',
  'handlers',
  'store',
  'execute',
  'tables',
  'setup',
  'onClose',
  'credentials',
  'destinations',
  'fetch',
  'handlerDefaults',
  'receive',
  'retention',
  'logger',
]

/**
 * Makes an inbox for a test. Close it when the test has ended: `await using t = await testInbox(…)`, or `t.close()`.
 *
 * @throws OptionInvalidError for an option that is unknown or cannot be used
 */
export async function testInbox<
  const Given extends GivenSources,
  Tx = SqliteTx,
  Sql = Tx,
  const Destinations extends readonly Destination[] = readonly [],
>(
  options: TestInboxOptions<Given, Tx, Sql, Destinations>,
): Promise<TestBench<SourcesFrom<Given>, Tx, Sql, SendsOf<Destinations>>> {
  rejectUnknownKeys('testInbox', options, OPTION_NAMES)
  const { sources, store, execute, tables } = options
  const credentials: Readonly<Record<string, SenderCredentials | undefined>> =
    options.credentials ?? {}
  if (typeof options.handlers !== 'function')
    throw new OptionInvalidError(
      'testInbox.handlers',
      'a function that gets the inbox',
      options.handlers,
    )
  if (typeof sources !== 'object' || sources === null)
    throw new OptionInvalidError('testInbox.sources', 'sources by name: { stripe }', sources)
  rejectUnknownKeys('testInbox.credentials', credentials, Object.keys(sources))
  if (options.onClose !== undefined && typeof options.onClose !== 'function')
    throw new OptionInvalidError('testInbox.onClose', 'a function', options.onClose)
  if (store !== undefined && typeof store !== 'function')
    throw new OptionInvalidError(
      'testInbox.store',
      'a function that makes one: () => postgresStore({ pool })',
      store,
    )
  const senders = new Map(
    Object.entries(sources).map(([name, given]) => [
      name,
      makeSender(name, given, credentials[name]),
    ]),
  )
  const database =
    store === undefined
      ? await temporaryDatabase<Sql, Tx>()
      : ownDatabase({ store, execute, tables })
  const remove = async () => {
    database.remove()
    await options.onClose?.()
  }
  try {
    if (options.setup !== undefined) await database.execute(options.setup)
    return await TestBench.open<SourcesFrom<Given>, Tx, Sql, SendsOf<Destinations>>({
      senders,
      database,
      destinations: options.destinations ?? [],
      fetch: options.fetch,
      logger: options.logger,
      inbox: {
        ...(options.receive !== undefined && { receive: options.receive }),
        ...(options.retention !== undefined && { retention: options.retention }),
        ...(options.handlerDefaults !== undefined && { handlerDefaults: options.handlerDefaults }),
      },
      register: options.handlers,
      remove,
    })
  } catch (error) {
    await remove()
    throw error
  }
}
