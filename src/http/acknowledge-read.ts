import type { Acknowledgement } from '../model/acknowledgement.ts'
import type { Delivery } from '../model/delivery.ts'
import { bodyParsed, tooLarge, tooSlow, unavailable } from '../receive/acknowledge.ts'
import type { BodyLimits, BodyRead } from './read-body.ts'
import type { ReceivingInbox, SourceLimits } from './receiving-inbox.ts'

/** A source behind a route. */
export interface Mount {
  readonly inbox: ReceivingInbox
  readonly sourceName: string
  readonly limits: SourceLimits
}

/** @throws HookonceError `SOURCE_UNKNOWN` */
export function mountSource(inbox: ReceivingInbox, sourceName: string): Mount {
  return { inbox, sourceName, limits: inbox.requireSource(sourceName) }
}

/** What a body of the source may take, and how long. */
export function limitsOf({ inbox, limits }: Mount): BodyLimits {
  return {
    bodyBytesMax: limits.bodyBytesMax,
    bodyTimeoutMs: inbox.receiveOptions.bodyTimeoutMs,
    budget: inbox.inFlight,
  }
}

/** A body that was read, or that a parser in front of us has parsed already. */
export type BodyFound = BodyRead | { readonly status: 'parsed'; readonly hint: string }

/**
 * The answer to a request whose body has been looked for; `undefined` when the sender has gone.
 *
 * Only a complete body reaches the inbox. From then on the sender may go away: the delivery is
 * recorded all the same, and its next attempt is a duplicate.
 */
export function acknowledgeRead(
  { inbox, sourceName, limits }: Mount,
  found: BodyFound,
  deliver: (body: Uint8Array) => Delivery,
): Promise<Acknowledgement> | Acknowledgement | undefined {
  switch (found.status) {
    case 'complete':
      return receiveBody(inbox, sourceName, found, deliver)
    case 'too-large':
      inbox.reportUnread?.(sourceName, found.status)
      return tooLarge(limits.bodyBytesMax)
    case 'no-room':
      inbox.reportUnread?.(sourceName, found.status)
      return { ...unavailable(), close: true }
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

/** The bytes are in flight until the sender is answered: they may wait for the database that long. */
async function receiveBody(
  inbox: ReceivingInbox,
  sourceName: string,
  { bytes, giveBack }: Extract<BodyRead, { readonly status: 'complete' }>,
  deliver: (body: Uint8Array) => Delivery,
): Promise<Acknowledgement> {
  try {
    return await inbox.receive(sourceName, deliver(bytes))
  } finally {
    giveBack()
  }
}
