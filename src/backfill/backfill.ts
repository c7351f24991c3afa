/**
 * Takes in what a sender says it sent and the inbox lacks.
 *
 *     list a page ─▶ which are here? ─▶ load the others ─▶ take them in ─▶ next page
 *
 * What this module promises:
 *
 * - An event that is here, in whatever state, is not taken in a second time: the key decides, and it is the key that
 *   a delivery has. The delivery that comes after all is a duplicate.
 * - It can be broken off anywhere, and begun again anywhere: what was taken in is known the next time.
 *
 * What it leaves to others: what an API looks like (the clients beside it), and how events are stored
 * (`receive/take-in.ts`).
 *
 * @module
 */

import { asError } from '../errors.ts'
import type { Delivery } from '../model/delivery.ts'
import type { BackfillEvent, BackfillPage } from './backfill-client.ts'
import type { BackfillOptions } from './backfill-options.ts'

/** What a back-fill has found and done. */
export interface BackfillReport {
  /** What the sender says it sent, of the types that were asked for. */
  readonly listed: number
  /** Of these, what the inbox had. */
  readonly known: number
  /** What the inbox lacked and has now; with `dryRun`, what it lacks. */
  readonly missing: number
  /** What the inbox lacks still, because it could not be had. The next back-fill tries these again. */
  readonly failed: number
  /** The first thousand of those that were missing. */
  readonly missingEvents: readonly MissingEvent[]
  /** The first thousand of those that failed, each with why. */
  readonly failedEvents: readonly (MissingEvent & { readonly reason: string })[]
  /** Whether everything since then was looked at. */
  readonly isComplete: boolean
  /** Why it was not. */
  readonly stoppedBy: string | undefined
  /** Where to go on: the `cursor` of the next back-fill. */
  readonly cursor: string | undefined
}

/** What the sender says of an event that the inbox lacked. */
export interface MissingEvent {
  readonly key: string
  readonly type: string
  readonly occurredAt: Date | undefined
}

export interface BackfillContext {
  /** Whether the inbox has an event with this key. */
  readonly isKnown: (key: string) => Promise<boolean>
  /** Stores what the delivery carries; `false` when all of it was here. */
  readonly takeIn: (delivery: Delivery) => Promise<boolean>
  readonly matches: (type: string) => boolean
}

export async function runBackfill(
  context: BackfillContext,
  { from, since, until, dryRun, cursor, signal }: BackfillOptions & { readonly until: Date },
): Promise<BackfillReport> {
  const found = new Findings()
  for (let at = cursor; ;) {
    let page: BackfillPage
    try {
      signal?.throwIfAborted()
      page = await from.list({ since, until, cursor: at, signal })
    } catch (error) {
      return found.report({ stoppedBy: asError(error).message, cursor: at })
    }
    for (const event of page.events) {
      if (signal?.aborted === true) {
        return found.report({ stoppedBy: asError(signal.reason).message, cursor: at })
      }
      if (!isWithin(event, since, until) || !context.matches(event.type)) continue
      await look(context, found, event, { dryRun: dryRun === true, signal })
    }
    if (page.next === undefined) return found.report({ stoppedBy: undefined, cursor: undefined })
    at = page.next
  }
}

async function look(
  { isKnown, takeIn }: BackfillContext,
  found: Findings,
  event: BackfillEvent,
  { dryRun, signal }: { readonly dryRun: boolean; readonly signal: AbortSignal | undefined },
): Promise<void> {
  // A sender that has tried several times lists each of its tries.
  if (!found.isNew(event)) return
  if (await isKnown(event.key)) return found.addKnown()
  if (dryRun) return found.addMissing(event)
  let delivery: Delivery
  try {
    const { headers, body } = await event.load(signal)
    delivery = { method: 'POST', url: '/', headers, body, receivedAt: new Date() }
  } catch (error) {
    return found.addFailed(event, asError(error).message)
  }
  if (await takeIn(delivery)) found.addMissing(event)
  else found.addKnown()
}

function isWithin({ occurredAt }: BackfillEvent, since: Date, until: Date): boolean {
  return occurredAt === undefined || (occurredAt >= since && occurredAt <= until)
}

/** What is told one by one of each kind. */
const TOLD_MAX = 1_000
/** Tries of one event are close to each other in the list. */
const SEEN_MAX = 100_000

class Findings {
  readonly #seen = new Set<string>()
  readonly #missing: MissingEvent[] = []
  readonly #failed: (MissingEvent & { readonly reason: string })[] = []
  readonly #counts = { listed: 0, known: 0, missing: 0, failed: 0 }

  isNew({ key }: BackfillEvent): boolean {
    if (this.#seen.has(key)) return false
    if (this.#seen.size >= SEEN_MAX) this.#seen.clear()
    this.#seen.add(key)
    this.#counts.listed += 1
    return true
  }

  addKnown(): void {
    this.#counts.known += 1
  }

  addMissing(event: BackfillEvent): void {
    this.#counts.missing += 1
    if (this.#missing.length < TOLD_MAX) this.#missing.push(asMissing(event))
  }

  addFailed(event: BackfillEvent, reason: string): void {
    this.#counts.failed += 1
    if (this.#failed.length < TOLD_MAX) this.#failed.push({ ...asMissing(event), reason })
  }

  report(end: Pick<BackfillReport, 'stoppedBy' | 'cursor'>): BackfillReport {
    return {
      ...this.#counts,
      missingEvents: this.#missing,
      failedEvents: this.#failed,
      isComplete: end.stoppedBy === undefined,
      ...end,
    }
  }
}

function asMissing({ key, type, occurredAt }: BackfillEvent): MissingEvent {
  return { key, type, occurredAt }
}
