import type { Pool } from 'pg'
import type { ConnectionConfig } from '../../test/support/postgres/start-postgres.ts'

/**
 * `row`: each event writes a row of its own. `two rows`: two of them. `balance`: each adds 1 to one of the
 * shared balances.
 */
export type Shape = 'row' | 'two rows' | 'balance'

export type DrainConfig = {
  readonly postgres?: ConnectionConfig
  /** The file of the SQLite store. */
  readonly sqlite?: string
  readonly poolMax: number
  readonly events: number
  readonly shape: Shape
}

export const BALANCES = 1_000

/** No key on it: a second effect of an event must be seen, not refused. */
export const CREATE_EFFECT = 'create table effect (event_key text not null)'
export const CREATE_BALANCE =
  'create table balance (id integer primary key, amount bigint not null)'

export async function createEffectTables(pool: Pool): Promise<void> {
  await pool.query(CREATE_EFFECT)
  await pool.query(CREATE_BALANCE)
  await pool.query('insert into balance select id, 0 from generate_series(0, $1::integer) as id', [
    BALANCES - 1,
  ])
}

/** The statement that is an event's effect, the same for every contestant. */
export function effectOf(
  shape: Shape,
  eventId: string,
): { text: string; values: (string | number)[] } {
  return shape !== 'balance'
    ? { text: 'insert into effect (event_key) values ($1)', values: [eventId] }
    : {
        text: 'update balance set amount = amount + 1 where id = $1',
        values: [balanceOf(Number(eventId.slice(4)))],
      }
}

/** The two writes of an event with steps. */
export function effectsOf(eventId: string): readonly [Effect, Effect] {
  const text = 'insert into effect (event_key) values ($1)'
  return [
    { text, values: [`${eventId} order`] },
    { text, values: [`${eventId} shipped`] },
  ]
}

export interface Effect {
  readonly text: string
  readonly values: string[]
}

/** What is outside answers at once: measured is what it costs to keep track of it. */
export async function callOutside(id: string): Promise<{ label: string }> {
  await new Promise((resolve) => setImmediate(resolve))
  return { label: `label of ${id}` }
}

/**
 * Scattered as by chance (the last steps of MurmurHash3), so that two workers meet the same balances in
 * different orders. One multiplication would not do: it spreads consecutive events evenly, and they never meet.
 */
export function balanceOf(index: number): number {
  let hash = index + 1
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return ((hash ^ (hash >>> 16)) >>> 0) % BALANCES
}

/** What the balances must be when every event took effect once. */
export function expectedBalances(events: number): number[] {
  const balances = new Array<number>(BALANCES).fill(0)
  for (let index = 0; index < events; index += 1) balances[balanceOf(index)]! += 1
  return balances
}
