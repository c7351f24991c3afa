import type { Acknowledgement } from '../model/acknowledgement.ts'
import type { DeliveryHeaders } from '../model/delivery.ts'
import { bodyParsed, tooLarge, tooSlow, unavailable } from '../receive/acknowledge.ts'
import type { BodyRead } from './read-body.ts'
import type { ReceivingInbox } from './receiving-inbox.ts'

/** A source behind a route. */
export interface Mount {
  readonly inbox: ReceivingInbox
  readonly sourceName: string
}

/** A body that was read, or that somebody else has parsed already. */
export type BodyFound = BodyRead | { readonly status: 'parsed'; readonly hint: string }

/** What a request says beside its body. */
export interface RequestHead {
  readonly method: string
  readonly url: string
  readonly headers: DeliveryHeaders
}

/**
 * The answer to a request whose body has been looked for; `undefined` when nobody is left to answer.
 *
 * Only a complete body reaches the inbox. From then on the sender may go away: the delivery is
 * recorded all the same, and its next attempt is a duplicate.
 */
export async function acknowledgeRead(
  { inbox, sourceName }: Mount,
  found: BodyFound,
  head: () => RequestHead,
): Promise<Acknowledgement | undefined> {
  switch (found.status) {
    case 'complete':
      try {
        return await inbox.receive(sourceName, {
          ...head(),
          body: found.bytes,
          receivedAt: new Date(),
        })
      } catch {
        // The inbox reports its own failures. Whatever it was, the sender must try again.
        return unavailable()
      }
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
