import type { EventDraft, EventId, Recorded } from '../../model/event.ts'
import type { SecretUse } from '../../model/secret-use.ts'
import { Topics } from '../../model/topic.ts'
import { createUuidV7Generator } from '../../model/uuid-v7.ts'
import type {
  Beat,
  ClockKept,
  DeliveryCount,
  EventStore,
  KeyQuery,
  OutcomeView,
} from '../contract/events.ts'
import type { Cipher } from '../shared/encryption/cipher.ts'
import { openOutcomeView } from '../shared/encryption/open-events.ts'
import { sealDrafts } from '../shared/encryption/seal-drafts.ts'
import { numberDrafts } from '../shared/numbered-draft.ts'
import type { Connections } from './connections.ts'
import type { HeldTransactions } from './held-transactions.ts'
import { beat } from './sql/beat.ts'
import { countDeliveries } from './sql/count-deliveries.ts'
import { countSecretUses } from './sql/count-secret-uses.ts'
import { findOutcome } from './sql/find-outcome.ts'
import { knowsKey } from './sql/knows-key.ts'
import { keepClock } from './sql/keep-clock.ts'
import { isWaiting, nudgeEvent } from './sql/nudge-event.ts'
import { findKnown, recordEvents } from './sql/record-events.ts'

/** The part of the store that receives events. */
export class SqliteEvents implements EventStore {
  /** One batch commits while the next one collects; a third would only stand in the writer's queue. */
  readonly recordConcurrency = 2
  readonly #connections: Connections
  readonly #held: HeldTransactions
  readonly #cipher: Cipher | undefined
  readonly #newId = createUuidV7Generator(Date.now)
  readonly #topics = new Topics()

  constructor(connections: Connections, held: HeldTransactions, cipher: Cipher | undefined) {
    this.#connections = connections
    this.#cipher = cipher
    this.#held = held
  }

  /** For an event that is stored in a transaction of the user's. */
  newId(): EventId {
    return this.#newId()
  }

  async record(
    drafts: readonly EventDraft[],
    { deadlineMs }: { deadlineMs: number },
  ): Promise<readonly Recorded[]> {
    const known = await this.findKnown(drafts)
    const numbered = numberDrafts(
      drafts.filter((_, index) => known[index] === undefined),
      { newId: this.#newId, topics: this.#topics },
    )
    const rest = this.#cipher === undefined ? numbered : sealDrafts(this.#cipher, numbered)
    if (rest.length === 0) return known.filter((recorded) => recorded !== undefined)

    const { writer } = this.#connections.getOpen()
    const stored = await writer.transact(
      { waitMs: deadlineMs, durable: true },
      (connection, breaks) => recordEvents(connection, breaks, rest),
    )
    let next = 0
    return known.map((recorded) => recorded ?? (stored[next++] as Recorded))
  }

  isHeld(): boolean {
    return this.#held.isOpen()
  }

  async findKnown(drafts: readonly EventDraft[]): Promise<readonly (Recorded | undefined)[]> {
    const known = await this.#connections.read((reader) =>
      drafts.map((draft) => findKnown(reader, draft)),
    )
    this.#connections.checkFiles()
    return known
  }

  async beat(since: Date | undefined): Promise<Beat> {
    this.#connections.getOpen()
    this.#connections.checkFiles()
    return this.#connections.read((reader) => beat(reader, since))
  }

  keepClock(options: { always: boolean }): Promise<ClockKept> {
    return keepClock(this.#connections, options)
  }

  async countDeliveries(counts: readonly DeliveryCount[]): Promise<void> {
    if (counts.length === 0) return
    await this.#connections.write('lazily', (connection, breaks) =>
      countDeliveries(connection, breaks, counts),
    )
  }

  async countSecretUses(uses: readonly SecretUse[]): Promise<void> {
    if (uses.length === 0) return
    await this.#connections.write('lazily', (connection) => countSecretUses(connection, uses))
  }

  knowsKey(query: KeyQuery): Promise<boolean> {
    return this.#connections.read((reader) => knowsKey(reader, query))
  }

  async findOutcome(eventId: EventId): Promise<OutcomeView | undefined> {
    const view = await this.#connections.read((reader) => findOutcome(reader, eventId))
    return openOutcomeView(this.#cipher, eventId, view)
  }

  async nudge(eventId: EventId): Promise<void> {
    if (!(await this.#connections.read((reader) => isWaiting(reader, eventId)))) return
    await this.#connections.write('lazily', (connection) => nudgeEvent(connection, eventId))
  }
}
