import type { SecretUse } from '../model/secret-use.ts'
import type { Source } from '../model/source.ts'
import { SecretTally } from './secret-tally.ts'

/** A rotation takes days, so that a few seconds tell as much as one. */
const FLUSH_MS = 5_000

/**
 * Counts which secret has verified how many deliveries, and writes the counts every five seconds, never one by one.
 *
 * What could not be written is kept for the next time: a person removes the old secret because its count stands still.
 */
export class SecretCounter {
  readonly #tally: SecretTally
  readonly #write: (uses: readonly SecretUse[]) => Promise<void>
  readonly #flushMs: number
  #timer: NodeJS.Timeout | undefined
  #flushing: Promise<void> = Promise.resolve()
  #isStopped = false

  constructor(
    sources: ReadonlyMap<string, Source>,
    write: (uses: readonly SecretUse[]) => Promise<void>,
    flushMs = FLUSH_MS,
  ) {
    this.#tally = new SecretTally(sources)
    this.#write = write
    this.#flushMs = flushMs
  }

  count(source: string, label: string, at: Date): void {
    this.#tally.count(source, label, at)
    if (this.#timer === undefined) this.#flushLater()
  }

  /** Has every configured secret listed, also those that have verified nothing. */
  announce(): void {
    this.#tally.addConfigured()
    this.#flushLater()
  }

  /** Writes what was counted. Never rejects: it is counted, and tried again. */
  flush(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    // One flush at a time, so that what could not be written is there for the next.
    this.#flushing = this.#flushing.then(() => this.#flushNow())
    return this.#flushing
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    await this.flush()
  }

  async #flushNow(): Promise<void> {
    const uses = this.#tally.take()
    if (uses.length === 0) return
    try {
      await this.#write(uses)
    } catch {
      this.#tally.restore(uses)
      this.#flushLater()
    }
  }

  #flushLater(): void {
    if (this.#isStopped) return
    this.#timer ??= setTimeout(() => void this.flush(), this.#flushMs).unref()
  }
}
