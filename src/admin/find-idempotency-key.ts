/**
 * From an idempotency key to what carried it.
 *
 * A message keeps its key. That of a step is derived from its event, its handler and its name, and is kept nowhere: an
 * index of keys would be written for every step, for a question that is asked once a month. So the steps are looked
 * at one by one, newest first, and the key of each is derived and compared.
 *
 * @module
 */

import { OptionInvalidError } from '../errors.ts'
import type { IdempotencyKeyUses, IdempotentStep } from '../model/event-story.ts'
import { highestId, isUuid } from '../model/id-range.ts'
import { freshKeyHash } from '../model/digest.ts'
import { deriveIdempotencyKey } from '../model/idempotency-key.ts'
import type { EventSearchStore, StepPosition, WalkedStep } from '../store/contract/event-search.ts'

const LOOKED_MAX = 10_000
/** In one statement. */
const LOOK = 500
const COUNT_MAX = 2_147_483_647
/** The newest step there could be comes after it. */
const FIRST: StepPosition = { eventId: highestId, run: 0, handler: '', position: 0 }

export async function findIdempotencyKey(
  search: EventSearchStore,
  key: string,
  start: StepPosition = FIRST,
): Promise<IdempotencyKeyUses> {
  const messages = await search.listMessagesByKey(key)
  const steps: IdempotentStep[] = []
  let lookedAt = 0
  let position = start
  while (lookedAt < LOOKED_MAX) {
    const walked = await search.walkSteps(position, LOOK)
    steps.push(...walked.filter((step) => keysOf(step).includes(key)).map(asUse))
    lookedAt += walked.length
    const last = walked.at(-1)
    if (last === undefined || walked.length < LOOK)
      return { messages, steps, lookedAt, cursor: undefined }
    position = last
  }
  return { messages, steps, lookedAt, cursor: asCursor(position) }
}

/** An event may have many steps, so that a cursor stands between two of them. */
function asCursor({ eventId, run, handler, position }: StepPosition): string {
  return Buffer.from(JSON.stringify([eventId, run, handler, position])).toString('base64url')
}

/** @throws OptionInvalidError for what is no cursor of ours */
export function requireStepCursor(option: string, cursor: unknown): StepPosition {
  const [eventId, run, handler, position] = parseCursor(cursor)
  if (isUuid(eventId) && isCount(run) && typeof handler === 'string' && isCount(position))
    return { eventId, run, handler, position }
  throw new OptionInvalidError(option, 'the cursor of an answer before', cursor)
}

function parseCursor(cursor: unknown): readonly unknown[] {
  try {
    const parsed: unknown = JSON.parse(Buffer.from(String(cursor), 'base64url').toString())
    return Array.isArray(parsed) ? parsed : []
  } catch {
    return []
  }
}

function isCount(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) >= 0 && (value as number) <= COUNT_MAX
}

/** A replay has the keys of the first run, or those of its own that it was asked for. */
function keysOf({ keyHash, run, handler, name }: WalkedStep): readonly string[] {
  const hashes = run === 0 ? [keyHash] : [keyHash, freshKeyHash(keyHash, run)]
  return hashes.map((hash) => deriveIdempotencyKey({ keyHash: hash, handler, name }))
}

function asUse({ eventId, run, handler, name }: WalkedStep): IdempotentStep {
  return { eventId, run, handler, name }
}
