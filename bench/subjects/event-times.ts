/** How long events take from stored to done, both seen by the process that does both. */
export class EventTimes {
  readonly #from: number
  readonly #storedAt = new Map<string, number>()
  readonly #tookMs: number[] = []

  /** @param from - the first event that counts; those before it warm up. Without it none does. */
  constructor(from = Infinity) {
    this.#from = from
  }

  stored(key: string): void {
    if (Number(key.slice('evt_'.length)) >= this.#from) this.#storedAt.set(key, performance.now())
  }

  done(key: string): void {
    const storedAt = this.#storedAt.get(key)
    if (storedAt === undefined) return
    this.#storedAt.delete(key)
    this.#tookMs.push(performance.now() - storedAt)
  }

  /** Nothing before the first event. */
  summarise(): Readonly<Record<string, number>> {
    if (this.#tookMs.length === 0) return {}
    const sorted = Float64Array.from(this.#tookMs).sort()
    const percentile = (part: number) => sorted[Math.floor(sorted.length * part)] ?? 0
    return { p50Ms: percentile(0.5), p99Ms: percentile(0.99) }
  }
}
