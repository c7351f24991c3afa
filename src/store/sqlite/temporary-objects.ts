/**
 * What handlers make in the temporary schema of the writer, which is one connection for all of them.
 *
 * It is the only thing that they can leave there: PRAGMA and ATTACH are refused, and there are no functions that
 * could hide them. A rollback takes it along; before events are settled it is dropped, so that a table that is
 * named like one of ours does not take what we write.
 *
 * Only SQLite: on PostgreSQL they are one of many things that can be left (`session-watch.ts`).
 *
 * @module
 */

import type { Connection } from './connection.ts'

// What SQLite keeps for itself there cannot be dropped.
const LIST = `
  select type, name from temp.sqlite_master
   where type in ('table', 'view', 'trigger') and name not like 'sqlite\\_%' escape '\\'
   order by type desc, name`

/** In words; `undefined` when there is nothing. */
export function findTemporaryObjects(connection: Connection): string | undefined {
  const names = connection.all<{ name: string }>(LIST).map(({ name }) => name)
  return names.length === 0 ? undefined : `temporary objects: ${names.join(', ')}`
}

/** In the transaction that made them. */
export function dropTemporaryObjects(connection: Connection): void {
  const objects = connection.all<{ type: string; name: string }>(LIST)
  if (objects.length === 0) return
  // One may refer to another that is dropped before it.
  connection.execute('pragma defer_foreign_keys = on')
  for (const { type, name } of objects) {
    // One may go with another: a trigger with its table, or what a virtual table is made of.
    connection.execute(`drop ${type} if exists temp."${name.replaceAll('"', '""')}"`)
  }
}
