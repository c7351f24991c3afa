import type { EventDraft } from '../model/event.ts'
import type { Source } from '../model/source.ts'
import { OutcomeWaiter } from '../receive/await-outcome.ts'
import { Batcher } from '../receive/batcher.ts'
import type { RecordingStore } from '../receive/batcher.ts'
import type { CommittedKeys } from '../receive/committed-keys.ts'
import { DeliveryCounter } from '../receive/delivery-counter.ts'
import type { ResolvedReceiveOptions } from '../receive/options.ts'
import type { ReceiveContext } from '../receive/receive.ts'
import { SecretCounter } from '../receive/secret-counter.ts'
import type { StoreWatch } from '../receive/store-watch.ts'
import type { EventStore } from '../store/contract/events.ts'
import type { Store } from '../store/contract/store.ts'
import type { HappeningEmitter } from '../telemetry/emitter.ts'

export interface ReceivingParts {
  readonly store: Store<unknown>
  /** Opens the store, if it is not open yet. */
  readonly open: () => Promise<void>
  readonly sources: ReadonlyMap<string, Source>
  readonly options: ResolvedReceiveOptions
  readonly committedKeys: CommittedKeys
  readonly happenings: HappeningEmitter
  /** Is told how recordings went. */
  readonly watch: Pick<StoreWatch, 'recorded' | 'failed'>
  /** These were stored, and can run. */
  readonly onStored: (drafts: readonly EventDraft[]) => void
  /** Something that was stored before can run now. */
  readonly onDue: () => void
}

/** What `receive` works with, for the lifetime of an inbox. */
export function createReceiveContext(parts: ReceivingParts): ReceiveContext {
  const { store, open, sources, options, committedKeys, happenings, watch, onStored, onDue } = parts
  return {
    sources,
    options,
    batcher: new Batcher(createRecordingStore(store.events, open, watch), options),
    committedKeys,
    counter: new DeliveryCounter(store),
    secrets: new SecretCounter(sources, (uses) => store.events.countSecretUses(uses)),
    outcomes: new OutcomeWaiter({
      store,
      deadlineMs: options.processedTimeoutMs,
      onDue,
    }),
    happenings,
    onStored,
  }
}

/** The store, opened by the first batch if it is not open yet. */
function createRecordingStore(
  events: EventStore,
  open: () => Promise<void>,
  watch: ReceivingParts['watch'],
): RecordingStore {
  return {
    recordConcurrency: events.recordConcurrency,
    record: async (drafts, options) => {
      await open()
      try {
        const recorded = await events.record(drafts, options)
        watch.recorded(recorded)
        return recorded
      } catch (error) {
        watch.failed(drafts[0], error)
        throw error
      }
    },
    // Asked only while a handler or a batch is on its way, so the store is open.
    ...(events.findKnown !== undefined && { findKnown: events.findKnown.bind(events) }),
    ...(events.isHeld !== undefined && { isHeld: events.isHeld.bind(events) }),
  }
}
