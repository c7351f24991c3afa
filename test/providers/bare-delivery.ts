import type { Delivery } from '../../src/model/delivery.ts'
import type { Source } from '../../src/model/source.ts'

export const NOW = new Date(1_760_000_000_000)

/** A request with nothing in it but what is given. */
export function bareDelivery(parts: Partial<Delivery>): Delivery {
  const empty = { method: 'POST', url: '/', headers: {}, body: new Uint8Array(), receivedAt: NOW }
  return { ...empty, ...parts }
}

export async function isBelieved(source: Source, delivery: Delivery): Promise<boolean> {
  return (await source.verify(delivery)).ok
}

export function keysOf(source: Source, delivery: Delivery): readonly (string | undefined)[] {
  return source.identify(delivery).map(({ key }) => key)
}
