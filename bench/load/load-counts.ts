import type { LoadReport } from './generate.ts'

/** What a generator has seen of the server it sends to. */
export class LoadCounts {
  readonly #startedAt = performance.now()
  readonly #latenciesUs: number[] = []
  #refused = 0
  #socketErrors = 0

  answered(status: number | undefined, sentAt: number): void {
    if (status === undefined) {
      this.#socketErrors += 1
      return
    }
    if (status >= 400) this.#refused += 1
    this.#latenciesUs.push((performance.now() - sentAt) * 1_000)
  }

  /** To be said once, at the end. */
  print(): void {
    const sorted = Float64Array.from(this.#latenciesUs).sort()
    const percentile = (part: number) => Math.round(sorted[Math.floor(sorted.length * part)] ?? 0)
    const report: LoadReport = {
      requests: sorted.length,
      durationUs: Math.round((performance.now() - this.#startedAt) * 1_000),
      refused: this.#refused,
      socketErrors: this.#socketErrors,
      p50Us: percentile(0.5),
      p99Us: percentile(0.99),
    }
    console.log(`RESULT ${JSON.stringify(report)}`)
  }
}
