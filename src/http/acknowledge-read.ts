import type { Acknowledgement } from '../model/acknowledgement.ts'
import type { Delivery } from '../model/delivery.ts'
import { bodyParsed, tooLarge, tooSlow } from '../receive/acknowledge.ts'
import type { BodyRead } from './read-body.ts'
import type { ReceivingInbox } from './receiving-inbox.ts'

/** A source behind a route. */
export interface Mount {
  readonly inbox: ReceivingInbox
  readonly sourceName: string
}

/** A body that was read, or that somebody else has parsed already. */
export type BodyFound = BodyRead | { readonly status: 'parsed'; readonly hint: string }

/**
 * The answer to a request whose body has been looked for; `undefined` when nobody is left to answer.
 *
 * Only a complete body reaches the inbox. From then on the sender may go away: the delivery is
 * recorded all the same, and its next attempt is a duplicate.
 */
export function acknowledgeRead(
  { inbox, sourceName }: Mount,
  found: BodyFound,
  deliver: (body: Uint8Array) => Delivery,
): Promise<Acknowledgement> | Acknowledgement | undefined {
  switch (found.status) {
    case 'complete':
      return inbox.receive(sourceName, deliver(found.bytes))
    case 'too-large':
      inbox.reportUnread?.(sourceName, found.status)
      return tooLarge(inbox.receiveOptions.bodyBytesMax)
    case 'too-slow':
      inbox.reportUnread?.(sourceName, found.status)
      return tooSlow()
    case 'parsed':
      inbox.reportBodyParsed(sourceName, found.hint)
      return bodyParsed(found.hint)
    case 'aborted':
      return undefined
  }
}
