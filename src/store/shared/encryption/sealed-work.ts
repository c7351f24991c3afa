/**
 * The parts of a store that hand events to workers and take what became of them, with everything sealed on its way in
 * and opened on its way out. What a worker holds, a group or a transaction of steps, is passed on as it is otherwise.
 *
 * @module
 */

import type { EventId } from '../../../model/event.ts'
import type { Settlement } from '../../../model/outcome.ts'
import type { ClaimedEvent } from '../../contract/claimed-event.ts'
import type { Group } from '../../contract/group.ts'
import type { DeadSettlement, LaneStore } from '../../contract/lanes.ts'
import type { QueueStore } from '../../contract/queue.ts'
import type {
  CallEntry,
  GroupLeaseRequest,
  LeasedEvent,
  OpenStep,
  StepResult,
  StepStore,
  StepTransaction,
} from '../../contract/steps.ts'
import type { CommitResult, HandlerClock, LentTx } from '../../contract/transaction.ts'
import type { Cipher } from './cipher.ts'
import { openClaimed, sealSettlement } from './open-events.ts'
import { places } from './places.ts'
import { sealTextOf } from './seal-content.ts'

export function sealQueue<Tx>(cipher: Cipher, queue: QueueStore<Tx>): QueueStore<Tx> {
  return {
    ...queue,
    claim: async (request) => {
      const group = await queue.claim(request)
      return group && new SealedGroup(cipher, group)
    },
    settleLost: (settlement) => queue.settleLost(sealSettlement(cipher, settlement)),
  }
}

export function sealLanes(cipher: Cipher, lanes: LaneStore): LaneStore {
  return {
    ...lanes,
    readUnsorted: async (request) => {
      const events = await lanes.readUnsorted(request)
      return events.map((event) => openClaimed(cipher, event))
    },
    sort: async (request) => {
      const given = new Map(request.decided.map((decided) => [decided.event.eventId, decided]))
      const decided = request.decided.map((each) =>
        'state' in each.becomes
          ? { ...each, becomes: sealSettlement<DeadSettlement>(cipher, each.becomes) }
          : each,
      )
      const result = await lanes.sort({ ...request, decided })
      if (result.status !== 'sorted') return result
      // What the caller had decided, and not as it was written.
      const events = result.events.map((each) => given.get(each.event.eventId) ?? each)
      return { ...result, events }
    },
  }
}

export function sealSteps<Tx>(cipher: Cipher, steps: StepStore<Tx>): StepStore<Tx> {
  const sealResult = (eventId: EventId, name: string, result: string | undefined) =>
    sealTextOf(cipher, result, places.stepResult(eventId, name))
  return {
    ...steps,
    lease: async (request) => {
      const events = await steps.lease(request)
      return events.map((event) => openClaimed(cipher, event))
    },
    list: async (eventId, run) => {
      const records = await steps.list(eventId, run)
      return records.map((record) => {
        const { name, result } = record
        if (result === undefined) return record
        return { ...record, result: cipher.openText(result, places.stepResult(eventId, name)) }
      })
    },
    writeCalls: async (entries) => {
      const sealed = entries.map((entry) => ({
        ...entry,
        result: sealResult(entry.lease.eventId, entry.name, entry.result),
      }))
      const written = await steps.writeCalls(sealed)
      const answers = [...written]
      for (const [at, entry] of entries.entries()) {
        if (written[at] !== undefined || entry.change !== 'done') continue
        const kept = await findSame(cipher, steps, entry)
        if (kept !== undefined) [answers[at]] = await steps.writeCalls([{ ...entry, result: kept }])
      }
      return answers
    },
    open: async (asked, limits) => {
      const transaction = await steps.open(asked, limits)
      return transaction && new SealedStepTransaction(cipher, asked, transaction)
    },
    settle: (settlements) =>
      steps.settle(
        settlements.map(({ lease, settlement }) => ({
          lease,
          settlement: 'eventId' in settlement ? sealSettlement(cipher, settlement) : settlement,
        })),
      ),
    resolve: (resolution, order) => {
      const { eventId, name, decision } = resolution
      if (!decision.happened) return steps.resolve(resolution, order)
      const result = sealResult(eventId, name, decision.result)
      return steps.resolve({ ...resolution, decision: { ...decision, result } }, order)
    },
  }
}

/**
 * What is stored as the result of a call, where it is the same: it was written before by a worker that did not get the answer,
 * and to the database no two sealed texts are the same.
 */
async function findSame<Tx>(
  cipher: Cipher,
  steps: StepStore<Tx>,
  { lease, handler, position, name, result }: CallEntry,
): Promise<string | undefined> {
  if (result === undefined) return undefined
  const { eventId, run } = lease
  const records = await steps.list(eventId, run)
  const kept = records.find((each) => each.handler === handler && each.position === position)
  if (kept?.state !== 'done' || kept.result === undefined) return undefined
  const opened = cipher.openText(kept.result, places.stepResult(eventId, name))
  return opened === result ? kept.result : undefined
}

class SealedGroup<Tx> implements Group<Tx> {
  readonly events: readonly ClaimedEvent[]
  readonly #cipher: Cipher
  readonly #group: Group<Tx>

  constructor(cipher: Cipher, group: Group<Tx>) {
    this.#cipher = cipher
    this.#group = group
    this.events = group.events.map((event) => openClaimed(cipher, event))
  }

  settle(settlements: readonly Settlement[]): Promise<ReadonlySet<EventId>> {
    return this.#group.settle(settlements.map((each) => sealSettlement(this.#cipher, each)))
  }

  async lease(request: GroupLeaseRequest): Promise<readonly LeasedEvent[]> {
    const leased = await this.#group.lease(request)
    return leased.map((event) => openClaimed(this.#cipher, event))
  }

  lend(clock?: HandlerClock): LentTx<Tx> {
    return this.#group.lend(clock)
  }

  hasWrites(): boolean {
    return this.#group.hasWrites()
  }

  flush(): Promise<void> {
    return this.#group.flush()
  }

  setSavepoint(name: string): Promise<void> {
    return this.#group.setSavepoint(name)
  }

  rollbackTo(name: string): Promise<void> {
    return this.#group.rollbackTo(name)
  }

  dropSavepoint(name: string): Promise<void> {
    return this.#group.dropSavepoint(name)
  }

  setLockTimeout(lockTimeoutMs: number): Promise<void> {
    return this.#group.setLockTimeout(lockTimeoutMs)
  }

  status(): ReturnType<Group<Tx>['status']> {
    return this.#group.status()
  }

  commit(): Promise<CommitResult> {
    return this.#group.commit()
  }

  cancel(): Promise<void> {
    return this.#group.cancel()
  }

  findTraces(): Promise<string | undefined> {
    return this.#group.findTraces()
  }

  abandon(): Promise<void> {
    return this.#group.abandon()
  }
}

class SealedStepTransaction<Tx> implements StepTransaction<Tx> {
  readonly held: readonly boolean[]
  readonly #cipher: Cipher
  readonly #steps: readonly OpenStep[]
  readonly #transaction: StepTransaction<Tx>

  constructor(cipher: Cipher, steps: readonly OpenStep[], transaction: StepTransaction<Tx>) {
    this.held = transaction.held
    this.#cipher = cipher
    this.#steps = steps
    this.#transaction = transaction
  }

  commit(results: readonly (StepResult | undefined)[]): Promise<CommitResult> {
    const sealed = results.map((result, at) => {
      const step = this.#steps[at]
      if (result === undefined || step === undefined) return result
      const place = places.stepResult(step.lease.eventId, step.name)
      return { ...result, text: sealTextOf(this.#cipher, result.text, place) }
    })
    return this.#transaction.commit(sealed)
  }

  lend(clock?: HandlerClock): LentTx<Tx> {
    return this.#transaction.lend(clock)
  }

  status(): ReturnType<StepTransaction<Tx>['status']> {
    return this.#transaction.status()
  }

  cancel(): Promise<void> {
    return this.#transaction.cancel()
  }

  findTraces(): Promise<string | undefined> {
    return this.#transaction.findTraces()
  }

  abandon(): Promise<void> {
    return this.#transaction.abandon()
  }
}
