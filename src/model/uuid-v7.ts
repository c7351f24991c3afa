/**
 * Event ids: UUIDv7 of RFC 9562, so that ids sort by the time they were made.
 *
 * A generator never gives an id that sorts before one it gave earlier, also when `now` stands still
 * or goes back: 12 bits after the milliseconds count within one of them (RFC 9562, 6.2, method 1),
 * and a counter that overflows borrows the next millisecond. Between processes ids are only as
 * ordered as their clocks; 62 random bits keep them apart.
 *
 * @module
 */

import { randomFillSync } from 'node:crypto'

/** What follows the 6 bytes of time. */
const RANDOM_BYTES = 10

/** Makes a function that gives a fresh id at every call. `now` is in milliseconds, the database's by choice. */
export function createUuidV7Generator(now: () => number): () => string {
  const bytes = Buffer.alloc(16)
  const text = Buffer.alloc(36, '-')
  // Many ids' worth at once: a call for ten random bytes takes 3 µs, and one for 2,560 hardly more.
  const random = Buffer.alloc(RANDOM_BYTES * 256)
  let randomAt = random.length
  let lastMs = -1
  let counter = 0

  return () => {
    const ms = Math.max(Math.floor(now()), lastMs)
    if (randomAt === random.length) {
      randomFillSync(random)
      randomAt = 0
    }
    random.copy(bytes, 16 - RANDOM_BYTES, randomAt, randomAt + RANDOM_BYTES)
    randomAt += RANDOM_BYTES
    // The top bit of a fresh counter is zero, so that at least 2,048 ids fit into a millisecond.
    counter = ms === lastMs ? counter + 1 : bytes.readUInt16BE(6) & 0x7ff
    lastMs = counter > 0xfff ? ms + 1 : ms
    if (counter > 0xfff) counter = 0

    bytes.writeUIntBE(lastMs, 0, 6)
    bytes.writeUInt16BE(0x7000 | counter, 6)
    bytes.writeUInt8(0x80 | (bytes.readUInt8(8) & 0x3f), 8)
    return write(bytes, text)
  }
}

const DIGITS = Buffer.from('0123456789abcdef', 'latin1')

/**
 * Written digit by digit, so that the text is one piece of memory. Put together from slices of the
 * hexadecimal it would hold on to all of them, and ids are kept in memory by the thousand.
 */
function write(bytes: Buffer, text: Buffer): string {
  let at = 0
  for (let i = 0; i < 16; i += 1) {
    if (i === 4 || i === 6 || i === 8 || i === 10) at += 1
    const byte = bytes[i] as number
    text[at] = DIGITS[byte >> 4] as number
    text[at + 1] = DIGITS[byte & 0xf] as number
    at += 2
  }
  return text.toString('latin1')
}
