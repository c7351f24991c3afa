/**
 * When to leave SQLite's write lock alone for a moment, so that other processes come to write too.
 *
 * Measured with a worker that drains a queue in groups of 100 ms and a second process that receives:
 * a delivery waited up to 3.1 s without these pauses, and up to 0.53 s with them.
 *
 * Nothing tells a writer that another process waits, but a commit by another connection shows that there is
 * one, and so does a lock that was found taken. After such a sign the pauses are frequent for a
 * while; else they are rare, and there only so that a new process can give a sign.
 *
 * Only SQLite: PostgreSQL lets many write at once.
 *
 * @module
 */

/** As long as the pause between two tries of a process that waits, with its jitter and a timer's rounding. */
const PAUSE_MS = 5
/** After how much writing without a pause to make one, if others write too. */
const SHARED_MS = 25
/** The same, if no other writer is known: 1 % of the time. */
const ALONE_MS = 500
/** For how long a sign of others counts. */
const SIGN_MS = 5_000

export class WritePauses {
  /** Since when the lock was never free for as long as a pause. */
  #busySince = 0
  #freeSince = -Infinity
  #signAt = -Infinity
  #dataVersion: number | undefined

  /** The turn was taken without waiting for it. */
  taken(): void {
    const now = performance.now()
    if (now - this.#freeSince >= PAUSE_MS) this.#busySince = now
  }

  /** The turn is free. */
  free(): void {
    this.#freeSince = performance.now()
  }

  /** A pause has been made. */
  paused(): void {
    this.#busySince = performance.now()
  }

  /** The lock was found taken. */
  met(): void {
    this.#signAt = performance.now()
  }

  /** The lock was got, and this is the number that other connections change when they commit. */
  saw(dataVersion: number): void {
    if (this.#dataVersion !== undefined && this.#dataVersion !== dataVersion) this.met()
    this.#dataVersion = dataVersion
  }

  /** How long to leave the lock free before the next write; 0 for not at all. */
  pauseMs(): number {
    const now = performance.now()
    const mostMs = now - this.#signAt < SIGN_MS ? SHARED_MS : ALONE_MS
    return now - this.#busySince >= mostMs ? PAUSE_MS : 0
  }
}
