import type { EventDraft, EventId, Recorded } from '../../model/event.ts'
import type { SecretUse } from '../../model/secret-use.ts'
import { Topics } from '../../model/topic.ts'
import { createUuidV7Generator } from '../../model/uuid-v7.ts'
import type {
  Beat,
  ClockKept,
  DeliveryCount,
  EventStore,
  KeptHistory,
  KeyQuery,
  OutcomeView,
} from '../contract/events.ts'
import type { Cipher } from '../shared/encryption/cipher.ts'
import { openOutcomeView } from '../shared/encryption/open-events.ts'
import { sealDrafts } from '../shared/encryption/seal-drafts.ts'
import { numberDrafts } from '../shared/numbered-draft.ts'
import type { Connections } from './connections.ts'
import { isEventId } from './is-event-id.ts'
import { BatchRecorder } from './record-batch.ts'
import { beat, CAN_READ_CONTROL } from './sql/beat.ts'
import { countDeliveries } from './sql/count-deliveries.ts'
import { countSecretUses } from './sql/count-secret-uses.ts'
import { findOutcome } from './sql/find-outcome.ts'
import { knowsKey } from './sql/knows-key.ts'
import { keepClock } from './sql/keep-clock.ts'
import { keepHistory } from './sql/keep-history.ts'
import { nudgeEvent } from './sql/nudge-event.ts'

/** The part of the store that receives events. */
export class PostgresEvents implements EventStore {
  readonly recordConcurrency = 3
  readonly #connections: Connections
  readonly #recorder: BatchRecorder
  readonly #cipher: Cipher | undefined
  #skewMs = 0
  // Ids follow the database's clock, or a process that is ahead would hide behind low-water positions and partitions.
  readonly #newId = createUuidV7Generator(() => Date.now() - this.#skewMs)
  readonly #topics = new Topics()
  #canReadControl = false
  #flushed = 0n
  #rewinds = 0

  constructor(connections: Connections, cipher: Cipher | undefined) {
    this.#connections = connections
    this.#cipher = cipher
    this.#recorder = new BatchRecorder(async (timeoutMs) => connections.checkOut(timeoutMs))
  }

  /** Learns what the role may read, and the database's time. */
  async open(): Promise<void> {
    await this.#connections.use(async (connection) => {
      const { rows } = await connection.query<'is_allowed'>(CAN_READ_CONTROL)
      this.#canReadControl = rows[0]?.is_allowed === 't'
    })
    await this.beat(undefined)
  }

  /** For an event that is stored in a transaction of the user's. */
  newId(): EventId {
    return this.#newId()
  }

  async record(
    drafts: readonly EventDraft[],
    { deadlineMs }: { deadlineMs: number },
  ): Promise<readonly Recorded[]> {
    if (drafts.length === 0) return []
    const numbered = numberDrafts(drafts, { newId: this.#newId, topics: this.#topics })
    const sealed = this.#cipher === undefined ? numbered : sealDrafts(this.#cipher, numbered)
    return this.#recorder.record(sealed, deadlineMs)
  }

  async beat(since: Date | undefined): Promise<Beat> {
    return this.#connections.use(async (connection) => {
      const askedAt = Date.now()
      const { nowMs, flushed, ...found } = await beat(connection, {
        since,
        canReadControl: this.#canReadControl,
      })
      this.#skewMs = (askedAt + Date.now()) / 2 - nowMs
      if (flushed < this.#flushed) this.#rewinds += 1
      this.#flushed = flushed
      return {
        ...found,
        epoch: `${found.epoch}/${this.#rewinds}`,
        history: { ...found.history, rewinds: this.#rewinds },
        skewMs: Math.round(this.#skewMs),
      }
    })
  }

  async keepClock(options: { always: boolean }): Promise<ClockKept> {
    return keepClock(this.#connections, options)
  }

  async keepHistory(history: KeptHistory): Promise<void> {
    await this.#connections.transact(async (connection) => keepHistory(connection, history))
  }

  async countDeliveries(counts: readonly DeliveryCount[]): Promise<void> {
    if (counts.length === 0) return
    await this.#connections.use(async (connection) => countDeliveries(connection, counts))
  }

  async countSecretUses(uses: readonly SecretUse[]): Promise<void> {
    if (uses.length === 0) return
    await this.#connections.use(async (connection) => countSecretUses(connection, uses))
  }

  knowsKey(query: KeyQuery): Promise<boolean> {
    return this.#connections.use((connection) => knowsKey(connection, query))
  }

  async findOutcome(eventId: EventId): Promise<OutcomeView | undefined> {
    if (!isEventId(eventId)) return undefined
    const view = await this.#connections.use(async (connection) => findOutcome(connection, eventId))
    return openOutcomeView(this.#cipher, eventId, view)
  }

  async nudge(eventId: EventId): Promise<void> {
    if (isEventId(eventId))
      await this.#connections.transact(async (connection) => nudgeEvent(connection, eventId))
  }
}
