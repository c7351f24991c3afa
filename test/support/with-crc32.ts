import { crc32 } from 'node:zlib'

/** More than the 32 bits of a CRC, so that some choice of them always does it. */
const SPACES = 64

/**
 * The text with white space behind it, so that its CRC-32 is this one: what an attacker does who has one
 * request that was signed by its CRC and wants another body. Spaces and tabs mean nothing behind JSON.
 */
export function withCrc32(text: string, wanted: number): string {
  const write = (tabs: bigint): string =>
    text +
    Array.from({ length: SPACES }, (_, at) => ((tabs >> BigInt(at)) & 1n ? '\t' : ' ')).join('')
  const plain = crc32(write(0n))
  // A CRC is linear: what a tab in one place changes, it changes whatever stands elsewhere.
  const basis = new Map<number, { readonly change: number; readonly tabs: bigint }>()
  for (let at = 0; at < SPACES; at++) {
    let change = (crc32(write(1n << BigInt(at))) ^ plain) >>> 0
    let tabs = 1n << BigInt(at)
    for (let bit = 31; bit >= 0 && change !== 0; bit--) {
      if (((change >>> bit) & 1) === 0) continue
      const known = basis.get(bit)
      if (known === undefined) {
        basis.set(bit, { change, tabs })
        break
      }
      change = (change ^ known.change) >>> 0
      tabs ^= known.tabs
    }
  }
  let left = (plain ^ wanted) >>> 0
  let tabs = 0n
  for (let bit = 31; bit >= 0; bit--) {
    if (((left >>> bit) & 1) === 0) continue
    const known = basis.get(bit)
    if (known === undefined) throw new Error('no white space makes this CRC')
    left = (left ^ known.change) >>> 0
    tabs ^= known.tabs
  }
  return write(tabs)
}
