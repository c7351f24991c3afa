/**
 * A clock that is ahead of the database's by what the test says.
 *
 * Times that decide what is due are the database's, and no test can set its clock. But to every statement a clock that is
 * an hour ahead and times that are an hour less are the same: so everything that waits is moved. A store does that by
 * itself where it finds that its clock was set back, and is told so here. What only retention reads is not moved, since an
 * event's id has its time in it: `prune` asks for what is old by this clock instead.
 *
 * @module
 */

import { OptionInvalidError } from '../../errors.ts'
import { rejectUnknownKeys } from '../../options/reject-unknown-keys.ts'
import { prune } from '../../retention/prune.ts'
import type { Pruned } from '../../retention/prune.ts'
import type { RetentionPolicy } from '../../retention/options.ts'
import type { Store } from '../../store/contract/store.ts'
import type { TestDatabase } from './test-database.ts'

/** A length of time. All parts are added. */
export interface TimeSpan {
  readonly days?: number
  readonly hours?: number
  readonly minutes?: number
  readonly seconds?: number
  readonly ms?: number
}

const UNITS: Readonly<Record<keyof TimeSpan, number>> = {
  days: 86_400_000,
  hours: 3_600_000,
  minutes: 60_000,
  seconds: 1_000,
  ms: 1,
}

/** The clock of a test. Nothing waits for it: what has become due runs at the next `idle()`. */
export class TestClock {
  readonly #database: TestDatabase<never, unknown>
  readonly #store: () => Pick<Store<unknown>, 'engine' | 'events'>
  #aheadMs = 0

  /** @internal */
  constructor(
    database: TestDatabase<never, unknown>,
    store: () => Pick<Store<unknown>, 'engine' | 'events'>,
  ) {
    this.#database = database
    this.#store = store
  }

  /** How far ahead it is, in milliseconds. */
  get aheadMs(): number {
    return this.#aheadMs
  }

  /**
   * Lets time pass: waits between attempts, leases, delays of messages and the lifetimes of keys are over by so much.
   *
   * @throws OptionInvalidError for no time, and for a store of your own without `execute`
   */
  async advance(span: TimeSpan): Promise<void> {
    const ms = readSpan(span)
    const store = this.#store()
    const statements = STATEMENTS[store.engine](this.#database.tables)
    await this.#database.execute(statements.moveLeases.replaceAll('{ms}', String(ms)))
    await this.#database.execute(statements.setBack.replaceAll('{ms}', String(ms)))
    await store.events.keepClock({ always: false })
    this.#aheadMs += ms
  }
}

function readSpan(span: TimeSpan): number {
  rejectUnknownKeys('clock.advance', span, Object.keys(UNITS))
  const ms = Object.entries(span).reduce(
    (sum, [unit, count]) => sum + Number(count) * UNITS[unit as keyof TimeSpan],
    0,
  )
  if (Number.isFinite(ms) && ms > 0) return Math.ceil(ms)
  throw new OptionInvalidError('clock.advance', 'a time such as { hours: 1 }', span)
}

/** Below this a store takes a clock that was set back for one that is kept well. */
const TOLERANCE_MS = 1_000

/**
 * The lease of a message that a dead process has: `keepClock` leaves it alone, since a process that lives may have it.
 */
const STATEMENTS = {
  sqlite: (given: string) => {
    const prefix = given || 'hookonce_'
    const now = "cast(unixepoch('subsec') * 1000 as integer)"
    return {
      moveLeases: `update ${prefix}message_queue set send_at = send_at - {ms}, claimed_at = claimed_at - {ms} where lease_token is not null`,
      setBack: `insert into ${prefix}meta (name, value) values ('clock', cast(${now} + max({ms}, ${TOLERANCE_MS + 500}) as text)) on conflict (name) do update set value = excluded.value`,
    }
  },
  postgres: (given: string) => {
    const schema = given || 'hookonce.'
    return {
      moveLeases: `update ${schema}message_queue set send_at = send_at - {ms} * interval '1 millisecond', claimed_at = claimed_at - {ms} * interval '1 millisecond' where lease_token is not null`,
      setBack: `insert into ${schema}meta (name, value) values ('clock', ((extract(epoch from clock_timestamp()) * 1000)::bigint + greatest({ms}, ${TOLERANCE_MS + 500}))::text) on conflict (name) do update set value = excluded.value`,
    }
  },
} as const

/** One run of the pruner, by a clock that is so far ahead. */
export async function pruneAt(
  { retention }: Pick<Store<unknown>, 'retention'>,
  policy: RetentionPolicy,
  aheadMs: number,
): Promise<Pruned> {
  const later = new Proxy(retention, {
    get: (target, name) => {
      const member: unknown = Reflect.get(target, name)
      if (name === 'findLastRun')
        return async () => {
          const found = await target.findLastRun()
          return { ...found, nowMs: found.nowMs + aheadMs }
        }
      return typeof member === 'function' ? (member.bind(target) as unknown) : member
    },
  })
  // All that a test has is old at once, which is far more than usual.
  return prune({ store: { retention: later }, policy }, { force: true })
}
