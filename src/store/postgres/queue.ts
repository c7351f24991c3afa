import type { Settlement } from '../../model/outcome.ts'
import type { Topic } from '../../model/topic.ts'
import type { Group } from '../contract/group.ts'
import type {
  ClaimRequest,
  DueKind,
  Look,
  LookRequest,
  ParkedEvent,
  QueueStore,
  UnhandledTopic,
} from '../contract/queue.ts'
import { GroupClaimer } from './claim-group.ts'
import type { Connections } from './connections.ts'
import type { PostgresTx } from './tx.ts'
import type { HeldTransactions } from './held-transactions.ts'
import { Listener } from './listener.ts'
import { lockNumber } from './lock-number.ts'
import { requirePoolSize } from './options.ts'
import type { ResolvedPostgresStoreOptions } from './options.ts'
import { findStateBehind } from './store-error.ts'
import { listUnhandled } from './sql/list-unhandled.ts'
import { look } from './sql/look.ts'
import { parkUnhandled } from './sql/park-unhandled.ts'
import { SETTLE_LOST, settleLost } from './sql/settle-lost.ts'
import { wakeUnhandled } from './sql/wake-unhandled.ts'

/** The part of the store that hands out events to be worked on. */
export class PostgresQueue implements QueueStore<PostgresTx> {
  readonly #options: ResolvedPostgresStoreOptions
  readonly #connections: Connections
  readonly #claimer: GroupClaimer
  readonly #listeners = new Set<Listener>()
  readonly #suspectLock: string
  readonly #channel: string

  constructor(
    options: ResolvedPostgresStoreOptions,
    connections: Connections,
    held: HeldTransactions,
  ) {
    this.#options = options
    this.#connections = connections
    this.#suspectLock = lockNumber(options.schema, 'suspect')
    this.#claimer = new GroupClaimer(held, this.#suspectLock)
    this.#channel = `hookonce_${lockNumber(options.schema, 'wake')}`
  }

  requireCapacity(concurrency: number): void {
    requirePoolSize(this.#options.pool, concurrency)
  }

  claim(request: ClaimRequest): Promise<Group<PostgresTx> | undefined> {
    return this.#claimer.claim(request)
  }

  async look(request: LookRequest): Promise<Look> {
    return this.#connections.use(async (connection) => look(connection, request, this.#suspectLock))
  }

  async settleLost(settlement: Extract<Settlement, { state: 'ready' | 'dead' }>): Promise<boolean> {
    try {
      return await this.#connections.transact(
        async (connection) => settleLost(connection, settlement),
        SETTLE_LOST,
      )
    } catch (error) {
      // Another transaction holds the event.
      if (findStateBehind(error) === '55P03') return false
      throw error
    }
  }

  async parkUnhandled(request: {
    kind: DueKind
    topics: readonly Topic[]
    limit: number
  }): Promise<readonly ParkedEvent[]> {
    return this.#connections.transact(async (connection) => parkUnhandled(connection, request))
  }

  async listUnhandled(page: { limit: number; after: Topic }): Promise<readonly UnhandledTopic[]> {
    return this.#connections.use(async (connection) => listUnhandled(connection, page))
  }

  async wakeUnhandled(topics: readonly Topic[], limit: number): Promise<number> {
    if (topics.length === 0) return 0
    return this.#connections.transact(async (connection) =>
      wakeUnhandled(connection, topics, limit),
    )
  }

  async listen(wake: () => void): Promise<() => Promise<void>> {
    const listener = new Listener(async () => this.#connections.checkOut(), this.#channel, wake)
    this.#listeners.add(listener)
    await listener.start()
    return async () => {
      this.#listeners.delete(listener)
      await listener.stop()
    }
  }

  async notify(): Promise<void> {
    await this.#connections.useMade(async (connection) =>
      connection.query("select pg_notify($1, '')", [this.#channel]),
    )
  }

  async close(): Promise<void> {
    await Promise.all([...this.#listeners].map((listener) => listener.stop()))
    this.#listeners.clear()
  }
}
