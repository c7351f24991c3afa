import type { Acknowledgement } from '../model/acknowledgement.ts'
import type { Delivery } from '../model/delivery.ts'
import type { ReceivingInbox, SourceLimits, UnreadReason } from '../http/receiving-inbox.ts'

/** Sees what senders are answered, and changes nothing. */
export interface AnswerWatch {
  onAnswered(source: string, delivery: Delivery, acknowledgement: Acknowledgement): void
  /** A request to a source that there is not. The name is a stranger's text. */
  onUnknownSource(name: string): void
}

/**
 * The inbox that deliveries go to now. A config that is read anew makes a new inbox: what comes in from then on goes
 * to that one, and what is on its way ends where it began.
 */
export class CurrentInbox implements ReceivingInbox {
  #inbox: ReceivingInbox
  readonly #watch: AnswerWatch | undefined

  constructor(inbox: ReceivingInbox, watch?: AnswerWatch) {
    this.#inbox = inbox
    this.#watch = watch
  }

  replaceBy(inbox: ReceivingInbox): void {
    this.#inbox = inbox
  }

  get receiveOptions(): ReceivingInbox['receiveOptions'] {
    return this.#inbox.receiveOptions
  }

  get inFlight(): ReceivingInbox['inFlight'] {
    return this.#inbox.inFlight
  }

  async receive(sourceName: string, delivery: Delivery): Promise<Acknowledgement> {
    const acknowledgement = await this.#inbox.receive(sourceName, delivery)
    this.#watch?.onAnswered(sourceName, delivery, acknowledgement)
    return acknowledgement
  }

  findSource(sourceName: string): SourceLimits | undefined {
    const found = this.#inbox.findSource(sourceName)
    if (found === undefined) this.#watch?.onUnknownSource(sourceName)
    return found
  }

  requireSource(sourceName: string): SourceLimits {
    return this.#inbox.requireSource(sourceName)
  }

  reportBodyParsed(sourceName: string, hint: string): void {
    this.#inbox.reportBodyParsed(sourceName, hint)
  }

  reportUnread(sourceName: string, reason: UnreadReason): void {
    this.#inbox.reportUnread?.(sourceName, reason)
  }

  isReady(): boolean {
    return this.#inbox.isReady()
  }

  get clockSkewMs(): number | undefined {
    return this.#inbox.clockSkewMs
  }
}
