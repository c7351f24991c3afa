/**
 * Takes in what a sender says it sent and the inbox lacks.
 *
 *     list every page ─▶ which are here? ─▶ of the others, the oldest first: load, take in
 *
 * What this module promises:
 *
 * - An event that is here, in whatever state, is not taken in a second time: the key decides, and it is the key that
 *   a delivery has. The delivery that comes after all is a duplicate. Only what was forgotten comes back.
 * - What a dry run lists is what a run takes in, in that order.
 * - What is missing is taken in oldest first, whatever the order of the list, or a lane would be run backwards. Up to
 *   `HELD_MAX` events are held for that; where more are missing, it is done part by part, and the report says so.
 * - It can be broken off anywhere, and begun again anywhere: what was taken in is known the next time.
 *
 * What it leaves to others: what an API looks like (the clients beside it), and how events are stored
 * (`receive/take-in.ts`).
 *
 * @module
 */

import { asError } from '../errors.ts'
import type { Delivery } from '../model/delivery.ts'
import type { BackfillClient, BackfillEvent, BackfillPage } from './backfill-client.ts'
import type { BackfillOptions } from './backfill-options.ts'
import { BackfillStoppedError } from './call-api.ts'
import { HeldEvents } from './held-events.ts'

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
  /**
   * Whether what was missing was taken in oldest first. `false` where more than 10,000 events were missing, where the
   * list broke off at a page that cannot be had, and for a run that goes on at a `cursor`: each part is then in order,
   * and what one takes in is older than what the part before it took in.
   */
  readonly isInOrder: boolean
  /** Whether everything was looked at that the sender lists of that time. */
  readonly isComplete: boolean
  /**
   * From when on the sender still lists what it has sent, where that is later than `since`: what happened before could
   * not be looked at. `undefined` where its list goes back far enough, or it is not known how far.
   */
  readonly keptSince: Date | undefined
  /** Why it was not. */
  readonly stoppedBy: string | undefined
  /** Where to go on: the `cursor` of the next back-fill. `undefined` where that has to begin at the beginning. */
  readonly cursor: string | undefined
}

/** What the sender says of an event that the inbox lacked. */
export interface MissingEvent {
  readonly key: string
  readonly type: string
  readonly occurredAt: Date | undefined
}

export interface BackfillContext {
  /** Whether the inbox has an event with this key, as far as that can be told without its delivery. */
  readonly isKnown: (key: string) => Promise<boolean>
  /** The keys that the source finds in it. */
  readonly keysIn: (delivery: Delivery) => readonly (string | undefined)[]
  /** Whether `takeIn` would store anything of it. */
  readonly isMissing: (delivery: Delivery) => Promise<boolean>
  /** Stores what the delivery carries; `false` when all of it was here. */
  readonly takeIn: (delivery: Delivery) => Promise<boolean>
  readonly matches: (type: string) => boolean
}

export async function runBackfill(
  context: BackfillContext,
  { from, since, until, dryRun, cursor, signal }: BackfillOptions & { readonly until: Date },
): Promise<BackfillReport> {
  const found = new Findings(findKeptSince(from, since))
  const held = new HeldEvents()
  const taking = { dryRun: dryRun === true, signal }
  for (let at = cursor, begin = cursor; ;) {
    let page: BackfillPage
    try {
      signal?.throwIfAborted()
      page = await from.list({ since, until, cursor: at, signal })
    } catch (error) {
      const isInOrder = begin === undefined
      const stoppedBy = asError(error).message
      if (held.size === 0) return found.report({ stoppedBy, cursor: at, isInOrder })
      // What is older than what is held will be listed when the API is asked again, unless it never will.
      if (!isForGood(error)) return found.report({ stoppedBy, cursor: begin, isInOrder })
      const brokenOffBy = await takeIn(context, found, held.takeOldestFirst(), taking)
      if (brokenOffBy !== undefined)
        return found.report({ stoppedBy: brokenOffBy, cursor: begin, isInOrder })
      return found.report({ stoppedBy, cursor: at, isInOrder: false })
    }
    for (const event of page.events) {
      if (signal?.aborted === true) break
      if (!isWithin(event, since, until) || !context.matches(event.type)) continue
      // A sender that has tried several times lists each of its tries.
      if (!found.isNew(event)) held.addTry(event)
      else if (await context.isKnown(event.key)) found.addKnown()
      else held.add(event)
    }
    // The rest of this page was not looked at: it is where to go on.
    if (signal?.aborted === true) {
      const stoppedBy = asError(signal.reason).message
      const here = held.size === 0 ? at : begin
      return found.report({ stoppedBy, cursor: here, isInOrder: begin === undefined })
    }
    const isLast = page.next === undefined
    if (isLast || held.size >= HELD_MAX) {
      const isInOrder = isLast && begin === undefined
      const stoppedBy = await takeIn(context, found, held.takeOldestFirst(), taking)
      if (stoppedBy !== undefined) return found.report({ stoppedBy, cursor: begin, isInOrder })
      if (isLast) return found.report({ stoppedBy, cursor: undefined, isInOrder })
      begin = page.next
    }
    at = page.next
  }
}

/** Says why it was broken off, where it was. */
async function takeIn(
  context: BackfillContext,
  found: Findings,
  events: readonly BackfillEvent[],
  { dryRun, signal }: Taking,
): Promise<string | undefined> {
  for (const event of events) {
    if (signal?.aborted === true) return asError(signal.reason).message
    let delivery: Delivery
    try {
      const { headers, body } = await event.load(signal)
      delivery = { method: 'POST', url: '/', headers, body, receivedAt: new Date() }
    } catch (error) {
      found.addFailed(event, asError(error).message)
      continue
    }
    const keys = context.keysIn(delivery)
    if (!keys.includes(event.key)) {
      found.addFailed(event, `the source finds another key in it: ${describeKeys(keys)}`)
      continue
    }
    const isNew = await (dryRun ? context.isMissing(delivery) : context.takeIn(delivery))
    if (isNew) found.addMissing(event)
    else found.addKnown()
  }
  return undefined
}

/** Stored under another key it would be taken in anew by every back-fill, and its delivery would be no duplicate. */
function describeKeys(keys: readonly (string | undefined)[]): string {
  const found = keys.flatMap((key) => (key === undefined ? [] : [JSON.stringify(key)]))
  return found.length === 0 ? 'none' : found.slice(0, KEYS_SHOWN_MAX).join(', ')
}

interface Taking {
  readonly dryRun: boolean
  readonly signal: AbortSignal | undefined
}

/** Whether the API will say the same however often it is asked. */
function isForGood(error: unknown): boolean {
  return error instanceof BackfillStoppedError && !error.retryable
}

function findKeptSince({ keptDays }: BackfillClient, since: Date): Date | undefined {
  if (keptDays === undefined) return undefined
  const keptSince = new Date(Date.now() - keptDays * DAY_MS)
  return since < keptSince ? keptSince : undefined
}

function isWithin({ occurredAt }: BackfillEvent, since: Date, until: Date): boolean {
  return occurredAt === undefined || (occurredAt >= since && occurredAt <= until)
}

/** Held with what the client holds of each: of Stripe's the body, some 5 kB. */
const HELD_MAX = 10_000
const KEYS_SHOWN_MAX = 3
/** What is told one by one of each kind. */
const TOLD_MAX = 1_000
/** Tries of one event are close to each other in the list. */
const SEEN_MAX = 100_000
const DAY_MS = 86_400_000

class Findings {
  readonly #seen = new Set<string>()
  readonly #missing: MissingEvent[] = []
  readonly #failed: (MissingEvent & { readonly reason: string })[] = []
  readonly #counts = { listed: 0, known: 0, missing: 0, failed: 0 }
  readonly #keptSince: Date | undefined

  constructor(keptSince: Date | undefined) {
    this.#keptSince = keptSince
  }

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

  report(end: Pick<BackfillReport, 'stoppedBy' | 'cursor' | 'isInOrder'>): BackfillReport {
    return {
      ...this.#counts,
      missingEvents: this.#missing,
      failedEvents: this.#failed,
      isComplete: end.stoppedBy === undefined,
      keptSince: this.#keptSince,
      ...end,
    }
  }
}

function asMissing({ key, type, occurredAt }: BackfillEvent): MissingEvent {
  return { key, type, occurredAt }
}
