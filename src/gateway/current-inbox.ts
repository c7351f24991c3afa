import type { Acknowledgement } from '../model/acknowledgement.ts'
import type { Delivery } from '../model/delivery.ts'
import type { ReceivingInbox, SourceLimits, UnreadReason } from '../http/receiving-inbox.ts'

/**
 * The inbox that deliveries go to now. A config that is read anew makes a new inbox: what comes in from then on goes
 * to that one, and what is on its way ends where it began.
 */
export class CurrentInbox implements ReceivingInbox {
  #inbox: ReceivingInbox

  constructor(inbox: ReceivingInbox) {
    this.#inbox = inbox
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

  receive(sourceName: string, delivery: Delivery): Promise<Acknowledgement> {
    return this.#inbox.receive(sourceName, delivery)
  }

  findSource(sourceName: string): SourceLimits | undefined {
    return this.#inbox.findSource(sourceName)
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
}
