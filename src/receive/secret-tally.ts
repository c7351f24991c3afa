import type { SecretUse } from '../model/secret-use.ts'
import type { Source } from '../model/source.ts'

/**
 * Counts in memory which secret has verified how many deliveries.
 *
 * As small as the configuration: there is an entry for each secret, and one for each key of a sender that signs with
 * its own, and only what verified a delivery is counted.
 */
export class SecretTally {
  readonly #sources: ReadonlyMap<string, Source>
  #uses = new Map<string, SecretUse>()

  constructor(sources: ReadonlyMap<string, Source>) {
    this.#sources = sources
  }

  count(source: string, label: string, at: Date): void {
    this.#add({ source, label, deliveries: 1, lastUsedAt: at, until: this.#untilOf(source, label) })
  }

  /** Every secret that is configured, also those that have verified nothing: their absence would say the same. */
  addConfigured(): void {
    for (const [source, { secretLabels = [] }] of this.#sources) {
      for (const { label, until } of secretLabels)
        this.#add({ source, label, deliveries: 0, lastUsedAt: undefined, until })
    }
  }

  /** Puts back what was taken. */
  restore(uses: readonly SecretUse[]): void {
    for (const use of uses) this.#add(use)
  }

  list(): readonly SecretUse[] {
    return [...this.#uses.values()]
  }

  /** The same, and begins anew. */
  take(): readonly SecretUse[] {
    const uses = this.list()
    this.#uses = new Map()
    return uses
  }

  #add(use: SecretUse): void {
    const key = JSON.stringify([use.source, use.label])
    const known = this.#uses.get(key)
    this.#uses.set(key, known === undefined ? use : addUses(known, use))
  }

  #untilOf(source: string, label: string): Date | undefined {
    const labels = this.#sources.get(source)?.secretLabels
    return labels?.find((one) => one.label === label)?.until
  }
}

function addUses(a: SecretUse, b: SecretUse): SecretUse {
  return {
    ...a,
    deliveries: a.deliveries + b.deliveries,
    lastUsedAt: laterOf(a.lastUsedAt, b.lastUsedAt),
  }
}

function laterOf(a: Date | undefined, b: Date | undefined): Date | undefined {
  if (a === undefined || b === undefined) return a ?? b
  return a > b ? a : b
}
