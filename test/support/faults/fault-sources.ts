/**
 * The senders of the fault tests, and what they send. An event's payload is a script: the handler of
 * a child process does what it says (`scripted-handler.ts`).
 *
 * @module
 */

import type { Delivery } from '../../../src/model/delivery.ts'
import { hmac, stripe } from '../../../src/providers/index.ts'
import { sign } from '../../../src/testing/index.ts'
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
    /** The same, with its content watched: where a batch of others is one call, theirs is a transaction. */
    watched: hmac({ ...PARTNER, sameBytes: 'quarantine' }),
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
  readonly lane?: string
  /** Its number or version in the lane. */
  readonly n?: number
  /** Whether a child process stands still when it is asked for the lane, by a SIGSTOP to itself. */
  readonly freezesLane?: boolean
}

/** A delivery of `partner`, and of `watched`. Equal events make equal bytes. */
export function fromPartner({ key, type = 'thing.happened', ...script }: ScriptedEvent): Delivery {
  return sign('hmac', { body: JSON.stringify({ id: key, type, ...script }) }, PARTNER)
}

/** The same for a step handler. */
export function forSteps({
  key,
  type = 'thing.happened',
  ...script
}: StepScript & {
  readonly key: string
  readonly type?: string
  readonly lane?: string
}): Delivery {
  return sign('hmac', { body: JSON.stringify({ id: key, type, ...script }) }, PARTNER)
}

/** A delivery of `partner`, and of `bytes`, with a body as it is. */
export function fromPartnerBytes(body: Uint8Array | string): Delivery {
  return sign('hmac', { body }, BYTES)
}

export function fromRival({ key, type = 'thing.happened', ...script }: ScriptedEvent): Delivery {
  return sign('hmac', { body: JSON.stringify({ id: key, type, ...script }) }, RIVAL)
}

export function fromStripe(
  key: string,
  at = new Date(),
  body?: Readonly<Record<string, unknown>>,
): Delivery {
  const event = body && { body: { type: 'invoice.paid', ...body, id: key } }
  return sign('stripe', { key, at, ...event }, { secret: STRIPE_SECRET })
}

/** As `partner` would send it, but signed by a forger who does not know the secret. */
export function forged({ key, type = 'thing.happened', ...script }: ScriptedEvent): Delivery {
  const secrets = ['forger: guesses thirty-two characters'] as const
  return sign(
    'hmac',
    { body: JSON.stringify({ id: key, type, ...script }) },
    { ...PARTNER, secrets },
  )
}
