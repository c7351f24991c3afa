/**
 * Which history of the database was seen last, kept in it: a process that is started after a restore, or a promotion,
 * finds there what it was before.
 *
 * Only PostgreSQL: a file of SQLite that was put back looks as it did, and nothing in it tells.
 *
 * @module
 */

import type { KeptHistory } from '../../contract/events.ts'
import type { Connection } from '../connection.ts'

// $1 the history, as JSON
const KEEP = `
  insert into {schema}.meta (name, value)
  values ('history', $1)
      on conflict (name) do update
     set value = excluded.value
   where meta.value <> excluded.value`

export async function keepHistory(connection: Connection, history: KeptHistory): Promise<void> {
  await connection.query(KEEP, [JSON.stringify(history)])
}

const FIND = `
  select value
    from {schema}.meta
   where name = 'history'`

export async function findHistory(connection: Connection): Promise<KeptHistory | undefined> {
  const { rows } = await connection.query<'value'>(FIND)
  return readHistory(rows[0]?.value)
}

/** As it was written. */
export function readHistory(text: string | null | undefined): KeptHistory | undefined {
  if (text == null) return undefined
  const { wentBack, ...kept } = JSON.parse(text) as HistoryText
  return wentBack === undefined
    ? kept
    : { ...kept, wentBack: { since: new Date(wentBack.since), until: new Date(wentBack.until) } }
}

type HistoryText = Omit<KeptHistory, 'wentBack'> & {
  readonly wentBack?: { readonly since: string; readonly until: string }
}
