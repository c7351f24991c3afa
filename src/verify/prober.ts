/**
 * Probes: requests of `hookonce doctor` that ask whether bodies arrive as they were sent.
 *
 *     hookonce-probe: v1,<seconds>,<sha256 of the body that was sent>,<HMAC-SHA256 of the three before it>
 *
 * What this module promises:
 *
 * - A probe is no signature of the sender's, and cannot be made into one: its key is derived from the secret (HKDF), so
 *   that what a stranger sees of a probe says nothing that the secret would have signed. Were it signed with the secret
 *   itself, a captured probe would be a signature of the text `v1,…`, which a sender's scheme may take for a body.
 * - Nothing of a body is hashed for a stranger: the header is believed first.
 *
 * @module
 */

import { createHash, createHmac, hkdfSync } from 'node:crypto'
import type { Delivery } from '../model/delivery.ts'
import { findHeader } from '../model/delivery.ts'
import { PROBE_HEADER } from '../model/probe.ts'
import type { Prober, ProbeReading } from '../model/probe.ts'
import { isEqual } from './hmac.ts'
import { isLive } from './secrets.ts'
import type { ResolvedSecret } from './secrets.ts'
import { isInWindow } from './timestamp.ts'

const TOLERANCE_SECONDS = 300
const SHAPE = /^(?<said>v1,(?<seconds>\d{1,12}),(?<sha256>[0-9a-f]{64})),(?<mac>[0-9a-f]{64})$/

/** `undefined` for a source without a shared secret: then doctor cannot be told from a stranger. */
export function createProber(secrets: readonly ResolvedSecret[]): Prober | undefined {
  const [first] = secrets
  if (first === undefined) return undefined
  return Object.freeze({
    sign: (body: Uint8Array, at: Date) => {
      const said = `v1,${Math.floor(at.getTime() / 1_000)},${digest(body)}`
      return `${said},${authenticate(first, said).toString('hex')}`
    },
    read: (delivery: Delivery) => readProbe(secrets, delivery),
  })
}

function readProbe(
  secrets: readonly ResolvedSecret[],
  delivery: Delivery,
): ProbeReading | undefined {
  const { said, seconds, sha256, mac } =
    SHAPE.exec(findHeader(delivery, PROBE_HEADER) ?? '')?.groups ?? {}
  if (said === undefined || mac === undefined) return undefined
  const nowMs = delivery.receivedAt.getTime()
  const shown = Buffer.from(mac, 'hex')
  const isOurs = secrets.some(
    (secret) => isLive(secret, nowMs) && isEqual(authenticate(secret, said), shown),
  )
  const rule = { format: 'seconds', toleranceSeconds: TOLERANCE_SECONDS } as const
  if (!isOurs || !isInWindow(Number(seconds) * 1_000, nowMs, rule)) return undefined
  return { isSame: digest(delivery.body) === sha256 }
}

function authenticate({ key }: ResolvedSecret, said: string): Buffer {
  const derived = hkdfSync('sha256', key, 'hookonce probe', '', 32)
  return createHmac('sha256', Buffer.from(derived)).update(said).digest()
}

function digest(body: Uint8Array): string {
  return createHash('sha256').update(body).digest('hex')
}
