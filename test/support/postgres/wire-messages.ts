/**
 * As much of PostgreSQL's protocol as the proxy reads. Every message after the first has a type byte and a
 * length; the first one has a length only.
 *
 * @module
 */

/** What a client sends, message by message. */
export class FrontendSplitter {
  #rest = Buffer.alloc(0)
  #isStarted = false

  push(chunk: Buffer): Buffer[] {
    this.#rest = Buffer.concat([this.#rest, chunk])
    const messages: Buffer[] = []
    for (;;) {
      const typeBytes = this.#isStarted ? 1 : 0
      if (this.#rest.length < typeBytes + 4) return messages
      const size = typeBytes + this.#rest.readInt32BE(typeBytes)
      if (this.#rest.length < size) return messages
      messages.push(this.#rest.subarray(0, size))
      this.#rest = this.#rest.subarray(size)
      this.#isStarted = true
    }
  }
}

/** What a server answers. */
export class BackendSplitter {
  #rest = Buffer.alloc(0)

  /** Whether a ReadyForQuery was among the messages that this chunk completed. */
  push(chunk: Buffer): boolean {
    this.#rest = Buffer.concat([this.#rest, chunk])
    let isReady = false
    while (this.#rest.length >= 5) {
      const size = 1 + this.#rest.readInt32BE(1)
      if (this.#rest.length < size) break
      if (this.#rest[0] === READY_FOR_QUERY) isReady = true
      this.#rest = this.#rest.subarray(size)
    }
    return isReady
  }
}

const QUERY = 'Q'.charCodeAt(0)
const PARSE = 'P'.charCodeAt(0)
export const READY_FOR_QUERY = 'Z'.charCodeAt(0)
/** Its type, its length and the transaction's status. */
export const READY_BYTES = 6
/** As a backend says goodbye after `pg_terminate_backend`. */
export const TERMINATED = errorResponse({
  S: 'FATAL',
  V: 'FATAL',
  C: '57P01',
  M: 'terminating connection due to administrator command',
})

function errorResponse(fields: Readonly<Record<string, string>>): Buffer {
  const body = Object.entries(fields).map(([name, value]) => `${name}${value}\0`)
  const text = Buffer.from(`${body.join('')}\0`)
  const head = Buffer.alloc(5)
  head.write('E')
  head.writeInt32BE(4 + text.length, 1)
  return Buffer.concat([head, text])
}

/** The SQL in a message, if it is one that carries some. */
export function textOf(message: Buffer): string | undefined {
  if (message[0] === QUERY) return message.toString('utf8', 5, message.length - 1)
  if (message[0] !== PARSE) return undefined
  const nameEnd = message.indexOf(0, 5)
  return message.toString('utf8', nameEnd + 1, message.indexOf(0, nameEnd + 1))
}
