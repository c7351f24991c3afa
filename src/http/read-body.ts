/**
 * Reads a request's body as the bytes that arrived, within a byte cap and a time cap.
 *
 * What it promises:
 *
 * - Never more than the cap plus one chunk is held, whatever the sender declares or goes on sending, and
 *   all bodies together never hold more than their budget.
 * - The memory is that of the bytes: a body that comes as a million chunks of one byte is copied into
 *   one buffer as it comes, since a list of a million small buffers takes a hundred times its length.
 * - It never throws. A sender that goes away in the middle is an expected end, with a name.
 *
 * @module
 */

import type { Readable } from 'node:stream'
import type { ByteBudget } from '../receive/byte-budget.ts'

/** What became of a body. */
export type BodyRead =
  | {
      readonly status: 'complete'
      readonly bytes: Uint8Array
      /** Gives what the bytes take back to the budget. To be called once, when the bytes are not needed any more. */
      readonly giveBack: () => void
    }
  | { readonly status: 'too-large' }
  /** The bodies of others take all there is. */
  | { readonly status: 'no-room' }
  | { readonly status: 'too-slow' }
  /** The sender went away before its body was complete, so there is no sender to answer. */
  | { readonly status: 'aborted' }

export interface BodyLimits {
  readonly bodyBytesMax: number
  readonly bodyTimeoutMs: number
  readonly budget: ByteBudget
}

/** Reads a Node stream. After anything but `complete` it is left paused, with the rest unread. */
export function readNodeBody(
  stream: Readable,
  declaredLength: string | undefined,
  limits: BodyLimits,
): Promise<BodyRead> {
  const refusal = refuseUnread(declaredLength, limits)
  if (refusal !== undefined) return Promise.resolve(refusal)
  if (stream.destroyed) return Promise.resolve({ status: 'aborted' })

  return new Promise((resolve) => {
    const collected = new ByteCollector(declaredLength, limits)
    const timer = setTimeout(() => settle({ status: 'too-slow' }), limits.bodyTimeoutMs)

    function settle(read: BodyRead): void {
      clearTimeout(timer)
      stream.off('data', onData).off('end', onEnd).off('close', onGone)
      if (read.status !== 'complete') {
        stream.pause()
        collected.giveBack()
      }
      resolve(read)
    }
    function onData(chunk: Uint8Array): void {
      const status = collected.add(chunk)
      if (status !== 'kept') settle({ status })
    }
    function onEnd(): void {
      settle(collected.complete())
    }
    function onGone(): void {
      settle({ status: 'aborted' })
    }

    // The error listener stays: a socket that breaks after we have stopped reading would otherwise
    // raise an error without a listener, and end the process.
    stream.on('error', onGone).on('data', onData).on('end', onEnd).on('close', onGone)
  })
}

/** Bytes that something else has read and kept, as a body that counts like any other. */
export function takeKept(bytes: Uint8Array, { budget }: BodyLimits): BodyRead {
  const { byteLength } = bytes
  if (!budget.take(byteLength)) return { status: 'no-room' }
  return { status: 'complete', bytes, giveBack: () => budget.giveBack(byteLength) }
}

/** Reads a web stream. After anything but `complete` it is cancelled. */
export async function readWebBody(
  stream: ReadableStream<Uint8Array> | null,
  declaredLength: string | undefined,
  limits: BodyLimits,
): Promise<BodyRead> {
  const refusal = refuseUnread(declaredLength, limits)
  if (refusal !== undefined) return refusal
  if (stream === null) return takeKept(new Uint8Array(0), limits)

  const reader = stream.getReader()
  const collected = new ByteCollector(declaredLength, limits)
  // Cancelling ends a pending read at once, whatever the stream's source makes of it.
  const cancel = (): void => void reader.cancel().catch(() => undefined)
  let isLate = false
  const timer = setTimeout(() => {
    isLate = true
    cancel()
  }, limits.bodyTimeoutMs)
  const end = (read: BodyRead): BodyRead => {
    clearTimeout(timer)
    if (read.status !== 'complete') collected.giveBack()
    return read
  }

  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (isLate) return end({ status: 'too-slow' })
      if (done) return end(collected.complete())
      const status = collected.add(value)
      if (status === 'kept') continue
      cancel()
      return end({ status })
    }
  } catch {
    return end({ status: 'aborted' })
  }
}

/** Whether a body of this length would be read. */
export function isWelcome(declaredLength: string | undefined, limits: BodyLimits): boolean {
  return refuseUnread(declaredLength, limits) === undefined
}

/** What can be said before a byte is read. */
function refuseUnread(
  declaredLength: string | undefined,
  { bodyBytesMax, budget }: BodyLimits,
): BodyRead | undefined {
  // A length that is no number is the parser's to refuse.
  const length = Number(declaredLength ?? 1) || 0
  if (declaredLength !== undefined && length > bodyBytesMax) return { status: 'too-large' }
  return budget.hasRoom(length) ? undefined : { status: 'no-room' }
}

const FIRST_CAPACITY_BYTES = 16_384

/**
 * Grows by doubling up to the cap, or to the length that was declared. A body that comes in one chunk, as
 * nearly all do, is not copied. What it holds is taken from the budget as it grows: were the declared
 * length taken at once, senders that declare much and send nothing would use it up for free.
 */
class ByteCollector {
  readonly #limits: BodyLimits
  readonly #capacityMax: number
  #buffer: Uint8Array = new Uint8Array(0)
  #length = 0
  #taken = 0

  constructor(declaredLength: string | undefined, limits: BodyLimits) {
    this.#limits = limits
    this.#capacityMax = Math.min(Number(declaredLength ?? Infinity), limits.bodyBytesMax)
  }

  /** A chunk that would pass the cap or the budget is not kept. */
  add(chunk: Uint8Array): 'kept' | 'too-large' | 'no-room' {
    const length = this.#length + chunk.byteLength
    if (length > this.#limits.bodyBytesMax) return 'too-large'
    if (this.#length === 0) {
      if (!this.#take(chunk.byteLength)) return 'no-room'
      this.#buffer = chunk
    } else {
      const isFull = this.#length === this.#buffer.byteLength
      if ((length > this.#buffer.byteLength || isFull) && !this.#grow(length)) return 'no-room'
      this.#buffer.set(chunk, this.#length)
    }
    this.#length = length
    return 'kept'
  }

  complete(): BodyRead {
    const bytes = this.#buffer.subarray(0, this.#length)
    return { status: 'complete', bytes, giveBack: () => this.giveBack() }
  }

  /** A second time it changes nothing. */
  giveBack(): void {
    this.#limits.budget.giveBack(this.#taken)
    this.#taken = 0
  }

  #take(bytes: number): boolean {
    if (!this.#limits.budget.take(bytes)) return false
    this.#taken += bytes
    return true
  }

  #grow(needed: number): boolean {
    const doubled = Math.max(2 * this.#buffer.byteLength, FIRST_CAPACITY_BYTES)
    const capacity = Math.max(needed, Math.min(doubled, this.#capacityMax || 0))
    if (!this.#take(capacity - this.#taken)) return false
    const grown = new Uint8Array(capacity)
    grown.set(this.#buffer.subarray(0, this.#length))
    this.#buffer = grown
    return true
  }
}
