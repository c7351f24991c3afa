import type { DueKind, DueTopic, Look } from '../contract/queue.ts'

/** The earliest event of a topic, due now or later. */
export interface FoundTopic extends DueTopic {
  /** 0 and less: it is due. */
  readonly dueInMs: number
}

/** The kinds that are found topic by topic, a page at a time. */
const PAGED: readonly DueKind[] = ['fresh', 'head', 'again', 'leasable']

/** From what a store found to what it answers: the same for every engine. */
export function summarizeLook(
  found: readonly FoundTopic[],
  laterInMs: number | undefined,
  limit: number,
): Look {
  const waits = found.flatMap(({ dueInMs }) => (dueInMs > 0 ? [dueInMs] : []))
  const nextDueInMs = Math.min(...waits, laterInMs ?? Infinity)
  return {
    due: found
      .filter(({ dueInMs }) => dueInMs <= 0)
      .map(({ kind, topic, source, type }) => ({ kind, topic, source, type })),
    nextDueInMs: nextDueInMs === Infinity ? undefined : Math.max(0, Math.ceil(nextDueInMs)),
    next: findNext(found, limit),
  }
}

/** A kind whose page is full may have more behind it; the next page begins where the first of them ends. */
function findNext(found: readonly FoundTopic[], limit: number): number | undefined {
  const ends = PAGED.flatMap((kind) => {
    const topics = found.filter((each) => each.kind === kind).map(({ topic }) => topic)
    return topics.length >= limit ? [Math.max(...topics)] : []
  })
  return ends.length === 0 ? undefined : Math.min(...ends)
}
