/**
 * Only SQLite: PostgreSQL refuses NUL in text, and what has one is kept as bytes there.
 *
 * @module
 */

const decoder = new TextDecoder('utf-8', { ignoreBOM: true })

/** Text that was read as bytes, because a sender chose it and libsql cuts text at a NUL. */
export function decodeText(bytes: Uint8Array): string {
  return decoder.decode(bytes)
}
