import { asError, StoreRejectedError } from '../errors.ts'
import type { EventDraft } from '../model/event.ts'
import type { EventStore } from '../store/contract/events.ts'
import type { HappeningEmitter } from '../telemetry/emitter.ts'
import type { StoreHealth } from './store-health.ts'

const CHECK_MS = 1_000
const RECORD_DEADLINE_MS = 5_000
const TRIES_MAX = 60

export interface WriteCheckContext {
  readonly store: { readonly events: Pick<EventStore, 'keepClock' | 'record'> }
  readonly health: StoreHealth
  readonly happenings: HappeningEmitter
  /** Something may be due that was not. */
  readonly onDue: () => void
}

/**
 * Sees once a second whether the store can write, and keeps its clock.
 *
 * A store that answers may not be able to write: its disk is full, or it became a standby. A receiver without
 * deliveries finds that out here. And what fails for a delivery may work for something small, so after a failed
 * recording one of its events is recorded again until that succeeds. It is verified, and its sender delivers it
 * again in any case: that delivery is then a duplicate. Should it be the event that no database can take, a minute
 * of that is enough, and the next delivery decides.
 */
export class WriteCheck {
  readonly #context: WriteCheckContext
  #failed: EventDraft | undefined
  #tries = 0
  #timer: NodeJS.Timeout | undefined
  #checking: Promise<void> | undefined
  #isStarted = false

  constructor(context: WriteCheckContext) {
    this.#context = context
  }

  /** Looks once, then once a second until stopped. */
  async start(): Promise<void> {
    this.#isStarted = true
    await this.#check()
  }

  async stop(): Promise<void> {
    this.#isStarted = false
    clearTimeout(this.#timer)
    await this.#checking
  }

  /** Events were recorded. */
  recorded(): void {
    this.#failed = undefined
    this.#tries = 0
    this.#context.health.works('write')
  }

  /** Events could not be recorded. What the database says of a row is no word about the database. */
  failed(draft: EventDraft | undefined, error: unknown): void {
    if (error instanceof StoreRejectedError) return
    const { health } = this.#context
    const isNews = health.isUp
    if (this.#failed === undefined) this.#tries = 0
    this.#failed ??= draft
    health.doubt(asError(error))
    if (isNews && this.#isStarted) void this.#check()
  }

  /** One at a time; the next one is a second after it has ended. */
  #check(): Promise<void> {
    this.#checking ??= this.#look().finally(() => {
      this.#checking = undefined
      clearTimeout(this.#timer)
      if (this.#isStarted) this.#timer = setTimeout(() => void this.#check(), CHECK_MS).unref()
    })
    return this.#checking
  }

  async #look(): Promise<void> {
    const { health, store } = this.#context
    try {
      const { isWritten, wentBackMs } = await store.events.keepClock({ always: !health.isUp })
      if (wentBackMs > 0) this.#noticeClock(wentBackMs)
      if (this.#failed !== undefined) await this.#recordAgain(this.#failed)
      else if (isWritten && this.#tries === 0) health.works('write')
    } catch (error) {
      health.fails('write', asError(error))
    }
  }

  async #recordAgain(draft: EventDraft): Promise<void> {
    const { store, onDue } = this.#context
    try {
      await store.events.record([draft], { deadlineMs: RECORD_DEADLINE_MS })
      onDue()
    } catch (error) {
      if (!(error instanceof StoreRejectedError)) return this.#failAgain(error)
    }
    this.recorded()
  }

  #failAgain(error: unknown): void {
    const { health } = this.#context
    this.#tries += 1
    health.fails('write', asError(error))
    if (this.#tries < TRIES_MAX) return
    this.#failed = undefined
    health.trust('write')
  }

  #noticeClock(backMs: number): void {
    const { happenings, onDue } = this.#context
    happenings.emit('clock.went-back', { backMs })
    onDue()
  }
}
