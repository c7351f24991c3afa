/**
 * The senders of the fault tests, and what they send. An event's payload is a script: the handler of
 * a child process does what it says (`scripted-handler.ts`).
 *
 * @module
 */

import type { Delivery } from '../../../src/model/delivery.ts'
import { hmac, stripe } from '../../../src/providers/index.ts'
import { signedDelivery } from '../../../src/testing/index.ts'
import type { Script } from './scripted-handler.ts'
import type { StepScript } from './scripted-steps.ts'

const PARTNER = {
  header: 'x-signature',
  algorithm: 'sha256',
  encoding: 'hex',
  secrets: ['partner: thirty-two characters of'],
  key: 'json:$.id',
  type: 'json:$.type',
} as const

const RIVAL = { ...PARTNER, secrets: ['rival: some other thirty-two chars'] } as const

const BYTES = {
  header: 'x-signature',
  algorithm: 'sha256',
  encoding: 'hex',
  secrets: PARTNER.secrets,
  key: 'body',
} as const

export const STRIPE_SECRET = 'whsec_thirty_two_characters_of_text'

export function createFaultSources() {
  return {
    partner: hmac(PARTNER),
    rival: hmac(RIVAL),
    stripe: stripe({ secrets: [STRIPE_SECRET] }),
    /** Known by their bytes alone. */
    bytes: hmac(BYTES),
    // Two names of which one begins with the other.
    a: hmac(PARTNER),
    ab: hmac(PARTNER),
  }
}

export interface ScriptedEvent extends Script {
  readonly key: string
  readonly type?: string
}

/** A delivery of `partner`. Equal events make equal bytes. */
export function fromPartner({ key, type = 'thing.happened', ...script }: ScriptedEvent): Delivery {
  return signedDelivery('hmac', { ...PARTNER, body: JSON.stringify({ id: key, type, ...script }) })
}

/** The same for a step handler. */
export function forSteps({
  key,
  type = 'thing.happened',
  ...script
}: StepScript & { readonly key: string; readonly type?: string }): Delivery {
  return signedDelivery('hmac', { ...PARTNER, body: JSON.stringify({ id: key, type, ...script }) })
}

/** A delivery of `partner`, and of `bytes`, with a body as it is. */
export function fromPartnerBytes(body: Uint8Array | string): Delivery {
  return signedDelivery('hmac', { ...BYTES, body })
}

export function fromRival({ key, type = 'thing.happened', ...script }: ScriptedEvent): Delivery {
  return signedDelivery('hmac', { ...RIVAL, body: JSON.stringify({ id: key, type, ...script }) })
}

export function fromStripe(
  key: string,
  at = new Date(),
  body?: Readonly<Record<string, unknown>>,
): Delivery {
  return signedDelivery('stripe', { secret: STRIPE_SECRET, key, at, ...(body && { body }) })
}

/** As `partner` would send it, but signed by somebody who does not know the secret. */
export function forged({ key, type = 'thing.happened', ...script }: ScriptedEvent): Delivery {
  const secrets = ['forger: guesses thirty-two characters'] as const
  return signedDelivery('hmac', {
    ...PARTNER,
    secrets,
    body: JSON.stringify({ id: key, type, ...script }),
  })
}
