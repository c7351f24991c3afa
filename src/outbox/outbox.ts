/**
 * The outbox of an inbox: what is written to be sent, and the relay that sends it.
 *
 * @module
 */

import { randomBytes } from 'node:crypto'
import { OptionInvalidError } from '../errors.ts'
import type { MessageDraft, SendOptions } from '../model/message.ts'
import type { AnySends, SendMap } from '../model/sends.ts'
import type { StandardSchema } from '../model/standard-schema.ts'
import type { Tracing } from '../model/tracing.ts'
import type { MessageStore } from '../store/contract/messages.ts'
import type { OwnTx } from '../store/contract/transaction.ts'
import type { HappeningEmitter } from '../telemetry/emitter.ts'
import type { Destination } from './destination.ts'
import { draftMessage } from './draft-message.ts'
import type { MessageInput } from './draft-message.ts'
import { resolveRelayOptions } from './options.ts'
import type { RelayOptions, ResolvedRelayOptions } from './options.ts'
import { Relay } from './relay.ts'
import type { RelayContext } from './relay.ts'
import { traceDestinations, traceDraft } from './trace-destinations.ts'

export interface OutboxContext<Tx> {
  readonly store: MessageStore<Tx>
  readonly destinations: readonly Destination[]
  /** `false` for a process that only writes messages. */
  readonly relay: RelayOptions | false
  readonly happenings: HappeningEmitter
  readonly tracing?: Tracing | undefined
  /** Whether the database is known to be the one it was. Nothing is sent while it is not. */
  readonly isHistoryKnown: () => boolean
}

interface StartTerms {
  readonly stopGraceMs?: number
  readonly onSettled?: RelayContext['onSettled']
}

export class Outbox<Tx, Sends extends SendMap = AnySends> {
  readonly #store: MessageStore<Tx>
  readonly #destinations: readonly Destination[]
  readonly #schemas: ReadonlyMap<string, StandardSchema | undefined>
  readonly #relayOptions: ResolvedRelayOptions | undefined
  readonly #happenings: HappeningEmitter
  readonly #tracing: Tracing | undefined
  readonly #isHistoryKnown: () => boolean
  #relay: Relay | undefined

  constructor(context: OutboxContext<Tx>) {
    const { store, destinations, relay, happenings, tracing, isHistoryKnown } = context
    this.#isHistoryKnown = isHistoryKnown
    this.#store = store
    this.#tracing = tracing
    this.#destinations = traceDestinations(tracing, requireDestinations(destinations))
    this.#schemas = new Map(destinations.map(({ name, schema }) => [name, schema]))
    this.#relayOptions = relay === false ? undefined : resolveRelayOptions(relay, destinations)
    this.#happenings = happenings
  }

  /**
   * Writes a message in a transaction of your own, on the inbox's database: it is sent if that commits.
   * A handler uses its own `send`, whose keys follow from the event. Here a key that is left out is
   * random, so give one if the transaction may be run again after it has committed.
   *
   * Returns the message's idempotency key.
   *
   * @throws HookonceError with the code DESTINATION_UNKNOWN, MESSAGE_INVALID, MESSAGE_MISMATCH, or TRANSACTION_EXPECTED
   */
  async send<Name extends keyof Sends & string>(
    tx: Tx | OwnTx,
    destination: Name,
    payload: Sends[Name],
    options: SendOptions = {},
  ): Promise<string> {
    const draft = this.draft({
      destination,
      payload,
      options,
      defaultKey: () => `ho_${randomBytes(32).toString('base64url')}`,
      eventId: undefined,
    })
    await this.#store.requireTransaction(tx)
    await this.#store.enqueue(tx, [draft])
    return draft.key
  }

  /** Writes messages that were drafted, in a transaction that is known to be one. */
  enqueue(tx: Tx | OwnTx, drafts: readonly MessageDraft[]): Promise<void> {
    return this.#store.enqueue(tx, drafts)
  }

  /** Has the relay look for messages now instead of at its next poll. For after your own COMMIT. */
  wake(): void {
    this.#relay?.wake()
  }

  /** A message that can be stored, or an error that says why it cannot be sent. */
  draft(input: MessageInput): MessageDraft {
    return traceDraft(this.#tracing, draftMessage(this.#schemas, input))
  }

  /** Whether this process sends: it is to have a relay, and there is anywhere to send to. */
  get hasRelay(): boolean {
    return this.#relayOptions !== undefined && this.#destinations.length > 0
  }

  /** Starts the relay, if this process is to have one. */
  start({ onSettled, ...terms }: StartTerms = {}): void {
    if (this.#relayOptions === undefined || !this.hasRelay) return
    this.#relay = new Relay({
      store: this.#store,
      destinations: this.#destinations,
      options: { ...this.#relayOptions, ...terms },
      happenings: this.#happenings,
      isHistoryKnown: this.#isHistoryKnown,
      onSettled,
    })
    this.#relay.start()
  }

  /** Resolves when nothing is due that its relay could send, with the time until something is. */
  async untilIdle(withinMs: number): Promise<number | undefined> {
    if (!this.hasRelay) return undefined
    await this.#relay?.untilIdle()
    return this.#store.nextDueInMs([...this.#schemas.keys()], withinMs)
  }

  /** Nothing more is sent to any destination, by any relay, until a person resumes it. */
  async pauseAll(reason: string): Promise<void> {
    for (const { name: destination } of this.#destinations)
      if (await this.#store.pauseDestination(destination, reason))
        this.#happenings.emit('destination.paused', { destination, reason })
  }

  /** How long its relay waits for what it is sending. */
  get stopGraceMs(): number {
    return this.hasRelay ? (this.#relayOptions?.stopGraceMs ?? 0) : 0
  }

  async stop(): Promise<void> {
    await this.#relay?.stop()
  }
}

function requireDestinations(destinations: readonly Destination[]): readonly Destination[] {
  if (!(destinations instanceof Array)) {
    throw new OptionInvalidError('createInbox.destinations', 'a list of destinations', destinations)
  }
  const names = new Set<string>()
  for (const [index, one] of destinations.entries()) {
    const path = `createInbox.destinations.${index}`
    if (typeof one?.send !== 'function' || typeof one.policy !== 'object') {
      throw new OptionInvalidError(
        path,
        'a destination, such as httpDestination(name, { url }) or destination(name, send)',
        one,
      )
    }
    if (names.has(one.name))
      throw new OptionInvalidError(path, `the only one named "${one.name}"`, one.name)
    names.add(one.name)
  }
  return destinations
}
