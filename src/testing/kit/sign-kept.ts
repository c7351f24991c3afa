import { OptionInvalidError } from '../../errors.ts'
import type { DeliveryHeaders } from '../../model/delivery.ts'
import type { SignedEvent } from '../signed-event.ts'
import type { SignDelivery } from './sender.ts'

const PROBED_AT = [new Date(1_700_000_000_000), new Date(1_700_086_401_001)] as const

/**
 * Signs what was kept in a file. Of its headers those are left out that signing makes anew, such as a time: they would
 * be those of another signature.
 */
export function signKept(signs: SignDelivery, kept: SignedEvent): ReturnType<SignDelivery> {
  const [first, second] = PROBED_AT.map((at) => probe(signs, { body: kept.body, at }))
  const entries = Object.entries(kept.headers ?? {}).filter(
    ([name]) => first?.[name] === second?.[name],
  )
  const event = { ...kept, headers: Object.fromEntries(entries) }
  try {
    return signs(event)
  } catch (error) {
    if (!(error instanceof OptionInvalidError) || error.option !== 'sign.key') throw error
    // The key of some senders has the time of the signature in it, and is another one now.
    const { key: _, ...others } = event
    return signs(others)
  }
}

/** What signing at a time adds. A function of the test's may not sign without a type: what it adds is its own matter. */
function probe(signs: SignDelivery, event: SignedEvent): DeliveryHeaders | undefined {
  try {
    return signs(event).headers
  } catch {
    return undefined
  }
}
