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
import type { HeldTransactions } from './held-transactions.ts'
import type { SqliteTx } from './tx.ts'
import { listUnhandled } from './sql/list-unhandled.ts'
import { look } from './sql/look.ts'
import { parkUnhandled } from './sql/park-unhandled.ts'
import { settleLost } from './sql/settle-lost.ts'
import { wakeUnhandled } from './sql/wake-unhandled.ts'

/** The part of the store that hands out events to be worked on. */
export class SqliteQueue implements QueueStore<SqliteTx> {
  readonly #connections: Connections
  readonly #claimer: GroupClaimer

  constructor(connections: Connections, held: HeldTransactions) {
    this.#connections = connections
    this.#claimer = new GroupClaimer(connections, held)
  }

  requireCapacity(): void {
    // One writer, however many wait for it.
  }

  claim(request: ClaimRequest): Promise<Group<SqliteTx> | undefined> {
    return this.#claimer.claim(request)
  }

  look(request: LookRequest): Promise<Look> {
    return this.#connections.read((reader) => look(reader, request))
  }

  settleLost(settlement: Extract<Settlement, { state: 'ready' | 'dead' }>): Promise<boolean> {
    const { lists } = this.#connections.getOpen()
    return this.#connections.write('durably', (connection) =>
      settleLost(connection, settlement, (slot) => lists.isStale(slot)),
    )
  }

  parkUnhandled(request: {
    kind: DueKind
    topics: readonly Topic[]
    limit: number
  }): Promise<readonly ParkedEvent[]> {
    return this.#connections.write('durably', (connection) => parkUnhandled(connection, request))
  }

  listUnhandled(page: { limit: number; after: Topic }): Promise<readonly UnhandledTopic[]> {
    return this.#connections.read((reader) => listUnhandled(reader, page))
  }

  async wakeUnhandled(topics: readonly Topic[], limit: number): Promise<number> {
    if (topics.length === 0) return 0
    return this.#connections.write('durably', (connection) =>
      wakeUnhandled(connection, topics, limit),
    )
  }

  /** SQLite cannot tell; the worker's poll finds what other processes have stored. */
  async listen(): Promise<() => Promise<void>> {
    return async () => {}
  }

  async notify(): Promise<void> {}
}
