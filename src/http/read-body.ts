/**
 * Reads a request's body as the bytes that arrived, within a byte cap and a time cap.
 *
 * What it promises:
 *
 * - Never more than the cap plus one chunk is held, whatever the sender declares or goes on sending.
 * - The memory is that of the bytes: a body that comes as a million chunks of one byte is copied into
 *   one buffer as it comes, since a list of a million small buffers takes a hundred times its length.
 * - It never throws. A sender that goes away in the middle is an expected end, with a name.
 *
 * @module
 */

import type { Readable } from 'node:stream'
import { Patience } from '../receive/patience.ts'
import type { Waiting } from '../receive/patience.ts'

/** What became of a body. */
export type BodyRead =
  | { readonly status: 'complete'; readonly bytes: Uint8Array }
  | { readonly status: 'too-large' }
  | { readonly status: 'too-slow' }
  /** The sender went away before its body was complete, so there is nobody to answer. */
  | { readonly status: 'aborted' }

export interface BodyLimits {
  readonly bodyBytesMax: number
  readonly bodyTimeoutMs: number
}

/** Reads a Node stream. After anything but `complete` it is left paused, with the rest unread. */
export function readNodeBody(
  stream: Readable,
  declaredLength: string | undefined,
  { bodyBytesMax, bodyTimeoutMs }: BodyLimits,
): Promise<BodyRead> {
  if (isOver(declaredLength, bodyBytesMax)) return Promise.resolve({ status: 'too-large' })
  if (stream.destroyed) return Promise.resolve({ status: 'aborted' })

  return new Promise((resolve) => {
    const collected = new ByteCollector(bodyBytesMax)
    const patience = patienceOf(bodyTimeoutMs)
    const reading: Reading = {
      expiresAt: performance.now() + bodyTimeoutMs,
      giveUp: () => settle({ status: 'too-slow' }),
    }
    patience.begin(reading)

    function settle(read: BodyRead): void {
      patience.end(reading)
      stream.off('data', onData).off('end', onEnd).off('close', onGone)
      if (read.status !== 'complete') stream.pause()
      resolve(read)
    }
    function onData(chunk: Uint8Array): void {
      if (!collected.add(chunk)) settle({ status: 'too-large' })
    }
    function onEnd(): void {
      settle({ status: 'complete', bytes: collected.bytes() })
    }
    function onGone(): void {
      settle({ status: 'aborted' })
    }

    // The error listener stays: a socket that breaks after we have stopped reading would otherwise
    // raise an error that nobody listens to, and end the process.
    stream.on('error', onGone).on('data', onData).on('end', onEnd).on('close', onGone)
  })
}

interface Reading extends Waiting {
  readonly giveUp: () => void
}

const PATIENCE = new Map<number, Patience<Reading>>()

/** One for all bodies that may take equally long. */
function patienceOf(ms: number): Patience<Reading> {
  let patience = PATIENCE.get(ms)
  if (patience === undefined) {
    patience = new Patience(ms, ({ giveUp }) => giveUp())
    PATIENCE.set(ms, patience)
  }
  return patience
}

/** Reads a web stream. After anything but `complete` it is cancelled. */
export async function readWebBody(
  stream: ReadableStream<Uint8Array> | null,
  declaredLength: string | undefined,
  { bodyBytesMax, bodyTimeoutMs }: BodyLimits,
): Promise<BodyRead> {
  if (isOver(declaredLength, bodyBytesMax)) return { status: 'too-large' }
  if (stream === null) return { status: 'complete', bytes: new Uint8Array(0) }

  const reader = stream.getReader()
  const collected = new ByteCollector(bodyBytesMax)
  // Cancelling ends a pending read at once, whatever the stream's source makes of it.
  const cancel = (): void => void reader.cancel().catch(() => undefined)
  let isLate = false
  const timer = setTimeout(() => {
    isLate = true
    cancel()
  }, bodyTimeoutMs)

  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (isLate) return { status: 'too-slow' }
      if (done) return { status: 'complete', bytes: collected.bytes() }
      if (!collected.add(value)) {
        cancel()
        return { status: 'too-large' }
      }
    }
  } catch {
    return { status: 'aborted' }
  } finally {
    clearTimeout(timer)
  }
}

/** A sender that declares too much is refused before a byte is read. A length that is none is the parser's to refuse. */
export function isOver(declaredLength: string | undefined, bodyBytesMax: number): boolean {
  return declaredLength !== undefined && Number(declaredLength) > bodyBytesMax
}

const FIRST_CAPACITY_BYTES = 16_384

/** Grows by doubling up to the cap. A body that comes in one chunk, as nearly all do, is not copied. */
class ByteCollector {
  readonly #bytesMax: number
  #buffer: Uint8Array = new Uint8Array(0)
  #length = 0

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
  }

  /** `false` when the chunk would pass the cap; it is not kept then. */
  add(chunk: Uint8Array): boolean {
    const length = this.#length + chunk.byteLength
    if (length > this.#bytesMax) return false
    if (this.#length === 0) {
      this.#buffer = chunk
    } else {
      if (length > this.#buffer.byteLength || this.#length === this.#buffer.byteLength)
        this.#grow(length)
      this.#buffer.set(chunk, this.#length)
    }
    this.#length = length
    return true
  }

  bytes(): Uint8Array {
    return this.#buffer.subarray(0, this.#length)
  }

  #grow(needed: number): void {
    const doubled = Math.max(needed, 2 * this.#buffer.byteLength, FIRST_CAPACITY_BYTES)
    const grown = new Uint8Array(Math.min(doubled, this.#bytesMax))
    grown.set(this.#buffer.subarray(0, this.#length))
    this.#buffer = grown
  }
}
