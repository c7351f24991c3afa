/**
 * Sorts out the drafts of a batch that are not plainly new: duplicates, conflicts, known content.
 *
 * | key | content | it is |
 * |---|---|---|
 * | known, same fingerprint | | a duplicate, and a dead event is queued again if its source says so |
 * | known, other fingerprint | | a conflict, or a duplicate of the same conflict |
 * | new | known, same fingerprint | quarantined, or a duplicate of the event that has it, queued again like any other |
 * | new | known, other fingerprint | a conflict, which gives its key back |
 * | new, and to be quarantined | new | quarantined without its key, or a duplicate of the same |
 *
 * A statement of its own sees what the winner of a race has committed meanwhile, because the insert
 * before it has waited for the winner to end.
 *
 * Only PostgreSQL: on SQLite nothing comes between a look and the insert (`sql/record-events.ts`).
 *
 * @module
 */

import { digestBytes, isSameContent, variantDigestOf } from '../../../model/digest.ts'
import type { Digest } from '../../../model/digest.ts'
import type { EventId, Recorded } from '../../../model/event.ts'
import { isOutsideWindow } from '../../shared/numbered-draft.ts'
import type { Connection } from '../connection.ts'
import { digestArray, plainArray, textArray } from '../binary-array.ts'
import {
  DRAFTS,
  EVENT_COLUMNS,
  draftValues,
  findContentHash,
  requestValues,
} from './draft-values.ts'
import { lockEvents } from './event-standing.ts'
import type { KeyOwner, UnsettledDraft } from './record-new.ts'

/** What was there at one look is gone at the next: a key that was pruned or forgotten, or a dead event. */
export class KeyVanished extends Error {
  override readonly name = 'KeyVanished'
}

// $1 hashes  $2 whether nothing was written so far
//
// A batch of duplicates only writes no WAL, so its COMMIT would say nothing about a first insert that
// a session with synchronous_commit = off made a moment ago. The message makes it flush what is
// before it, and leaves the key rows alone.
const LOOK = `
  select encode(keys.hash, 'hex') as hash, keys.event_id, encode(keys.fingerprint, 'hex') as fingerprint,
         exists (select from {schema}.outcomes o where o.event_id = keys.event_id and o.state = 'dead') as is_dead
    from (select case when $2::boolean then pg_logical_emit_message(true, 'hookonce', '') end as lsn) proof
    left join {schema}.keys on keys.hash = any($1::bytea[])`

// $1 hashes  $2 ids  $3 fingerprints
const CLAIM = `
  insert into {schema}.keys (hash, event_id, fingerprint)
  select distinct on (hash) hash, id, fingerprint
    from unnest($1::bytea[], $2::uuid[], $3::bytea[]) with ordinality as claim (hash, id, fingerprint, ord)
   order by hash, ord
      on conflict do nothing
  returning event_id`

// $1 hashes, all claimed by this transaction
const GIVE_BACK = `
  delete from {schema}.keys where hash = any($1::bytea[])`

// $1 to $18 drafts  $19 and $20 their requests  $21 states  $22 reasons
const STORE_PARKED = `
  with draft as materialized (
         select * from ${DRAFTS}),
       stored as (
         insert into {schema}.events (${EVENT_COLUMNS})
         select ${EVENT_COLUMNS} from draft),
       kept as (
         insert into {schema}.requests (id, body)
         select * from unnest($19::uuid[], $20::bytea[])
             on conflict do nothing)
  insert into {schema}.queue (event_id, topic, run_at, parked, parked_reason, bytes)
  select draft.id, draft.topic, clock_timestamp(), state.parked, state.reason, octet_length(draft.body)
    from draft
    join unnest($21::text[], $22::text[]) with ordinality as state (parked, reason, ord) using (ord)`

// $1 hashes, all claimed by this transaction  $2 the events they shall stand for
const MOVE_KEYS = `
  update {schema}.keys
     set event_id = move.event_id
    from unnest($1::bytea[], $2::uuid[]) as move (hash, event_id)
   where keys.hash = move.hash`

// $1 events
const REVIVE = `
  with gone as (
         delete from {schema}.outcomes
          where event_id = any($1::uuid[]) and state = 'dead'
         returning event_id, run)
  insert into {schema}.queue (event_id, topic, run, run_at, bytes)
  select gone.event_id, e.topic, gone.run, clock_timestamp(), octet_length(e.body)
    from gone
    join {schema}.events e on e.id = gone.event_id
      on conflict do nothing
  returning event_id`

export async function recordKnown(
  connection: Connection,
  drafts: readonly UnsettledDraft[],
  { wroteNothing }: { wroteNothing: boolean },
): Promise<ReadonlyMap<number, Recorded>> {
  const hashes = drafts.flatMap(({ draft, hasKey, hasContent }) => {
    const content = findContentHash(draft)
    return [
      ...(hasKey ? [] : [draft.keyHash]),
      ...(content === undefined || hasContent ? [] : [content]),
    ]
  })
  const known = await look(connection, hashes, wroteNothing)
  const plan = new Plan()
  const beside: Beside[] = []
  const renamed: UnsettledDraft[] = []
  for (const one of drafts) {
    const key = one.hasKey ? undefined : known.find(one.draft.keyHash)
    const parking = findParking(one, key, known)
    if (parking !== undefined) beside.push({ draft: one, ...parking })
    else if (key !== undefined) plan.duplicate(one, key)
    else renamed.push(one)
  }
  if (beside.length > 0) await parkBeside(connection, plan, beside)
  // Last, since the content they have may by now stand for another event.
  for (const one of renamed) plan.knownContent(one, known.get(findContentHash(one.draft)))
  plan.followDuplicates()
  await write(connection, plan)
  return plan.answers
}

/** Why a draft is parked without its key, which belongs to another or is to stay free for another. */
interface Parking {
  readonly state: 'conflict' | 'quarantined'
  readonly reason: string
}

interface Beside extends Parking {
  readonly draft: UnsettledDraft
}

function findParking(
  { draft, hasContent }: UnsettledDraft,
  key: KeyOwner | undefined,
  known: KnownKeys,
): Parking | undefined {
  if (key !== undefined) {
    if (isSameContent(key.fingerprint, draft.fingerprint)) return undefined
    return { state: 'conflict', reason: 'same key, other content' }
  }
  const hash = findContentHash(draft)
  const content = hash === undefined || hasContent ? undefined : known.find(hash)
  if (content !== undefined && content.fingerprint !== draft.fingerprint)
    return { state: 'conflict', reason: 'same signature, other content' }
  const isRenamed = content !== undefined && draft.sameBytes === 'duplicate'
  return draft.quarantine === undefined || !isOutsideWindow(draft) || isRenamed
    ? undefined
    : { state: 'quarantined', reason: draft.quarantine }
}

/** Each under its key and its content together, so that it is known when it comes again. */
async function parkBeside(
  connection: Connection,
  plan: Plan,
  beside: readonly Beside[],
): Promise<void> {
  const held = beside.filter(({ draft }) => draft.hasKey).map(({ draft }) => draft.draft.keyHash)
  if (held.length > 0) await connection.query(GIVE_BACK, [digestArray(held)])
  const drafts = beside.map(({ draft }) => draft)
  const claimed = await claim(connection, drafts, ({ draft }) => variantDigestOf(draft))
  for (const one of beside) if (claimed.has(one.draft.id)) plan.park(one)

  // What is quarantined has not asked for its content; the others have, with their keys.
  const watched = drafts.filter(
    ({ id, draft, hasContent }) =>
      claimed.has(id) && !hasContent && findContentHash(draft) !== undefined,
  )
  if (watched.length > 0)
    await claim(connection, watched, ({ draft }) => findContentHash(draft) as Digest)

  const repeated = drafts.filter(({ id }) => !claimed.has(id))
  if (repeated.length === 0) return
  const variants = repeated.map(({ draft }) => variantDigestOf(draft))
  const known = await look(connection, variants, false)
  for (const one of repeated) plan.duplicate(one, known.get(variantDigestOf(one.draft)))
}

/** The ids of those whose hash was free. */
async function claim(
  connection: Connection,
  drafts: readonly UnsettledDraft[],
  hashOf: (draft: UnsettledDraft) => Digest,
): Promise<ReadonlySet<string | null>> {
  const { rows } = await connection.query<'event_id'>(CLAIM, [
    digestArray(drafts.map(hashOf)),
    plainArray(drafts.map(({ id }) => id)),
    digestArray(drafts.map(({ draft }) => draft.fingerprint)),
  ])
  return new Set(rows.map((row) => row.event_id))
}

async function look(
  connection: Connection,
  hashes: readonly Digest[],
  wroteNothing: boolean,
): Promise<KnownKeys> {
  const { rows } = await connection.query<'hash' | 'event_id' | 'fingerprint' | 'is_dead'>(LOOK, [
    digestArray(hashes),
    wroteNothing,
  ])
  return new KnownKeys(
    rows.map((row) => [
      row.hash ?? '',
      {
        eventId: row.event_id ?? '',
        fingerprint: Buffer.from(row.fingerprint ?? '', 'hex').toString('latin1'),
        isDead: row.is_dead === 't',
      },
    ]),
  )
}

class KnownKeys {
  readonly #keys: ReadonlyMap<string, KeyOwner>

  constructor(keys: readonly (readonly [string, KeyOwner])[]) {
    this.#keys = new Map(keys)
  }

  find(hash: Digest): KeyOwner | undefined {
    return this.#keys.get(hex(hash))
  }

  /** What a draft is here for, be it a key or a content, and what was dropped if it is not there. */
  get(hash: Digest | undefined): KeyOwner {
    const key = hash === undefined ? undefined : this.find(hash)
    if (key === undefined) throw new KeyVanished()
    return key
  }
}

/** What to answer and what to write, before anything is written. */
class Plan {
  readonly answers = new Map<number, Recorded>()
  readonly parked: {
    draft: UnsettledDraft
    state: 'conflict' | 'quarantined'
    reason: string | null
  }[] = []
  readonly moves: { hash: Digest; eventId: EventId }[] = []
  readonly dead: { at: number; eventId: EventId }[] = []
  /** Which event stands for one that was a draft of this batch and turned out to be a duplicate. */
  readonly #owners = new Map<EventId, EventId>()

  duplicate(draft: UnsettledDraft, { eventId, isDead }: KeyOwner): void {
    this.#answerDuplicate(draft, eventId, isDead)
    // Content that this draft claimed a moment ago must not stand for an event that will not be.
    const content = findContentHash(draft.draft)
    if (draft.hasContent && content !== undefined) this.#move(draft.id, content, eventId)
  }

  park({ draft, state, reason }: Beside): void {
    const { at, id: eventId } = draft
    const { quarantine } = draft.draft
    this.answers.set(
      at,
      state === 'quarantined' && quarantine !== undefined
        ? { status: state, eventId, reason: quarantine }
        : { status: 'conflict', eventId },
    )
    this.parked.push({ draft, state, reason })
  }

  knownContent(draft: UnsettledDraft, { eventId, isDead }: KeyOwner): void {
    if (draft.draft.sameBytes === 'duplicate') {
      this.#answerDuplicate(draft, eventId, isDead)
      this.#move(draft.id, draft.draft.keyHash, eventId)
      return
    }
    const reason = draft.draft.quarantine ?? 'same bytes under another key'
    this.answers.set(draft.at, { status: 'quarantined', eventId: draft.id, reason })
    this.parked.push({ draft, state: 'quarantined', reason })
  }

  #answerDuplicate({ at, draft }: UnsettledDraft, eventId: EventId, isDead: boolean): void {
    this.answers.set(at, { status: 'duplicate', eventId })
    if (isDead && draft.redelivery === 'retry') this.dead.push({ at, eventId })
  }

  #move(from: EventId, hash: Digest, eventId: EventId): void {
    this.moves.push({ hash, eventId })
    this.#owners.set(from, eventId)
  }

  /**
   * Once all are sorted out: what a duplicate was found to be may have turned out to be a duplicate as well, and is no
   * event. It came before it in the batch, so that no two are duplicates of each other.
   */
  followDuplicates(): void {
    for (const [at, answer] of this.answers)
      if (answer.status === 'duplicate')
        this.answers.set(at, { ...answer, eventId: this.#ownerOf(answer.eventId) })
    for (const move of this.moves) move.eventId = this.#ownerOf(move.eventId)
  }

  #ownerOf(eventId: EventId): EventId {
    const owner = this.#owners.get(eventId)
    return owner === undefined ? eventId : this.#ownerOf(owner)
  }
}

async function write(
  connection: Connection,
  { parked, moves, dead, answers }: Plan,
): Promise<void> {
  if (moves.length > 0) {
    await connection.query(MOVE_KEYS, [
      digestArray(moves.map(({ hash }) => hash)),
      plainArray(moves.map(({ eventId }) => eventId)),
    ])
  }
  if (parked.length > 0) {
    const drafts = parked.map(({ draft }) => draft)
    await connection.query(STORE_PARKED, [
      ...draftValues(drafts),
      ...requestValues(drafts),
      textArray(parked.map(({ state }) => state)),
      textArray(parked.map(({ reason }) => reason)),
    ])
  }
  if (dead.length > 0) await revive(connection, dead, answers)
}

/**
 * One that is not dead any more was revived by another delivery, discarded or forgotten. Which of them is found by
 * looking again: a forgotten one has no key now, and a delivery that was told `duplicate` would be lost.
 *
 * @throws KeyVanished
 */
async function revive(
  connection: Connection,
  dead: Plan['dead'],
  answers: Plan['answers'],
): Promise<void> {
  const events = dead.map(({ eventId }) => eventId)
  await lockEvents(connection, events)
  const { rows } = await connection.query<'event_id'>(REVIVE, [plainArray(events)])
  const revived = new Set(rows.map((row) => row.event_id))
  if (events.some((eventId) => !revived.has(eventId))) throw new KeyVanished()
  for (const { at, eventId } of dead)
    if (revived.delete(eventId)) answers.set(at, { status: 'revived', eventId })
}

function hex(digest: Digest): string {
  return digestBytes(digest).toString('hex')
}
