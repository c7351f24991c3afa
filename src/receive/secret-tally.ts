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
  #uses = new Map<string, Writable<SecretUse>>()

  constructor(sources: ReadonlyMap<string, Source>) {
    this.#sources = sources
  }

  /** In place, since it is called for every delivery. */
  count(source: string, label: string, at: Date): void {
    const known = this.#uses.get(keyOf(source, label))
    if (known === undefined) {
      const until = this.#untilOf(source, label)
      this.#add({ source, label, deliveries: 1, lastUsedAt: at, until })
    } else {
      known.deliveries += 1
      if (known.lastUsedAt === undefined || known.lastUsedAt < at) known.lastUsedAt = at
    }
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
    return Array.from(this.#uses.values(), (use) => ({ ...use }))
  }

  /** The same, and begins anew. */
  take(): readonly SecretUse[] {
    const uses = this.list()
    this.#uses = new Map()
    return uses
  }

  #add(use: SecretUse): void {
    const key = keyOf(use.source, use.label)
    const known = this.#uses.get(key)
    this.#uses.set(key, known === undefined ? { ...use } : addUses(known, use))
  }

  #untilOf(source: string, label: string): Date | undefined {
    const labels = this.#sources.get(source)?.secretLabels
    return labels?.find((one) => one.label === label)?.until
  }
}

type Writable<T> = { -readonly [Key in keyof T]: T[Key] }

/** The name of a source has no space in it, so that no two pairs have one key. */
function keyOf(source: string, label: string): string {
  return `${source} ${label}`
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
