import type { EventStory, RunStory } from '../model/event-story.ts'
import type { EventId } from '../model/event.ts'
import { deriveIdempotencyKey } from '../model/idempotency-key.ts'
import type { StoredStory } from '../store/contract/event-search.ts'
import type { Store } from '../store/contract/store.ts'

/** The whole story of one event. */
export async function showEvent(
  { operators, search }: Store<unknown>,
  eventId: EventId,
): Promise<EventStory | undefined> {
  const event = await operators.findEvent(eventId)
  const stored = event && (await search.findStory(event.id))
  if (event === undefined || stored === undefined) return undefined
  const { deliveries, messages, hasMoreMessages, firstEventId, beside } = stored
  const runs = listRuns(stored)
  return { event, deliveries, runs, messages, hasMoreMessages, firstEventId, beside }
}

/** The first run is there from the start; of the others there is something to tell. */
function listRuns({ keyHash, outcomes, failures, steps }: StoredStory): readonly RunStory[] {
  const numbers = new Set([0, ...[...outcomes, ...failures, ...steps].map(({ run }) => run)])
  const ofRun =
    (wanted: number) =>
    ({ run }: { readonly run: number }): boolean =>
      run === wanted
  return [...numbers]
    .sort((a, b) => a - b)
    .map((run) => ({
      run,
      outcome: outcomes.find(ofRun(run)),
      failures: failures.filter(ofRun(run)),
      steps: steps.filter(ofRun(run)).map((step) => ({
        ...step,
        idempotencyKey: deriveIdempotencyKey({ keyHash, handler: step.handler, name: step.name }),
      })),
    }))
}
