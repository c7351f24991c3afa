import type { Delivery } from '../../src/model/delivery.ts'
import type { IdentifiedEvent, Source } from '../../src/model/source.ts'

export const NOW = new Date(1_760_000_000_000)

/** A request with nothing in it but what is given. */
export function bareDelivery(parts: Partial<Delivery>): Delivery {
  const empty = { method: 'POST', url: '/', headers: {}, body: new Uint8Array(), receivedAt: NOW }
  return { ...empty, ...parts }
}

/** A POST of this body. */
export function post(body: string, headers: Record<string, string> = {}): Delivery {
  return bareDelivery({ headers, body: Buffer.from(body) })
}

/** What the source sees in a delivery, which must be one event. */
export function only(source: Source, delivery: Delivery): IdentifiedEvent {
  const [event, ...others] = source.identify(delivery)
  if (event === undefined || others.length > 0) throw new Error('not one event')
  return event
}

export async function isBelieved(source: Source, delivery: Delivery): Promise<boolean> {
  return (await source.verify(delivery)).ok
}

export function keysOf(source: Source, delivery: Delivery): readonly (string | undefined)[] {
  return source.identify(delivery).map(({ key }) => key)
}
