import type { HandledPattern } from '../../contract/workers.ts'
import type { Connection } from '../connection.ts'

const LIST = `
  select handles
    from {schema}.workers
   where slot = 0`

/** What the workers have handlers for, also one whose heart is old: after an outage all hearts are. */
export async function listHandled(connection: Connection): Promise<readonly HandledPattern[]> {
  const { rows } = await connection.query<'handles'>(LIST)
  return rows.flatMap(({ handles }) => JSON.parse(handles ?? '[]') as HandledPattern[])
}
