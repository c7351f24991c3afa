import { createHash } from 'node:crypto'

export type RelayConfig = {
  readonly messages: number
  /** Of the sink. */
  readonly url: string
  readonly concurrency: number
  /** Whether it sends with undici, as the gateway does, instead of Node's own client. */
  readonly undici?: boolean
}

export const RELAY_SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`

/** The same key and about 1 KiB of JSON for every contestant. */
export function messageOf(index: number): { key: string; payload: object } {
  const key = `ho_${createHash('sha256').update(String(index)).digest('base64url')}`
  return { key, payload: { order: index, note: 'x'.repeat(960) } }
}
