import { freshKeyHash } from '../model/digest.ts'
import type { EventStory, RunStory } from '../model/event-story.ts'
import type { EventId } from '../model/event.ts'
import { deriveIdempotencyKey } from '../model/idempotency-key.ts'
import type { StoredStory } from '../store/contract/event-search.ts'
import type { AuditRecord, RunRecord } from '../store/contract/operators.ts'
import type { Store } from '../store/contract/store.ts'
import { diffBodies } from './diff-bodies.ts'
import type { BodyDiff } from './diff-bodies.ts'

/** All that is known of one event, and what operators did to it. */
export interface ShownEvent extends Omit<EventStory, 'runs'> {
  /** Oldest first. One that waits or runs has no outcome yet. */
  readonly runs: readonly ShownRun[]
  /** How its body differs from that of the first event with its key, where there is one. */
  readonly difference: BodyDiff | undefined
  /** What operators did to it, latest first; 100 at most. */
  readonly audit: readonly AuditRecord[]
}

/** One run of an event. */
export interface ShownRun extends RunStory {
  /** What an operator asked for; `undefined` for the first run, which the delivery brought. */
  readonly replay: RunRecord | undefined
}

/** The whole story of one event. */
export async function showEvent(
  { operators, search }: Store<unknown>,
  eventId: EventId,
): Promise<ShownEvent | undefined> {
  const event = await operators.findEvent(eventId)
  const stored = event && (await search.findStory(event.id))
  if (event === undefined || stored === undefined) return undefined
  const { deliveries, messages, hasMoreMessages, firstEventId, beside } = stored
  const replays = await operators.listRuns(event.id)
  const subject = { kind: 'event', id: event.id } as const
  const audit = await operators.listAudit({ subject, limit: AUDIT_MAX })
  const first = firstEventId === undefined ? undefined : await operators.findEvent(firstEventId)
  return {
    event,
    deliveries,
    runs: listRuns(stored, replays),
    messages,
    hasMoreMessages,
    firstEventId,
    difference: first && diffBodies(first.body, event.body),
    beside,
    audit,
  }
}

const AUDIT_MAX = 100

/** The first run is there from the start; of the others there is something to tell. */
function listRuns(
  { keyHash, outcomes, failures, steps }: StoredStory,
  replays: readonly RunRecord[],
): readonly ShownRun[] {
  const told = [...outcomes, ...failures, ...steps, ...replays]
  const numbers = new Set([0, ...told.map(({ run }) => run)])
  const ofRun =
    (wanted: number) =>
    ({ run }: { readonly run: number }): boolean =>
      run === wanted
  return [...numbers]
    .sort((a, b) => a - b)
    .map((run) => {
      const replay = replays.find(ofRun(run))
      const ownHash = replay?.freshKeys === true ? freshKeyHash(keyHash, run) : keyHash
      return {
        run,
        replay,
        outcome: outcomes.find(ofRun(run)),
        failures: failures.filter(ofRun(run)),
        steps: steps.filter(ofRun(run)).map((step) => ({
          ...step,
          idempotencyKey: deriveIdempotencyKey({
            keyHash: ownHash,
            handler: step.handler,
            name: step.name,
          }),
        })),
      }
    })
}
