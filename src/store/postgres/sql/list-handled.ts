import type { HandledPattern } from '../../contract.ts'
import type { Connection } from '../connection.ts'

// $1 dead after ms
const LIST = `
  select handles
    from {schema}.workers
   where slot = 0
     and beat_at > clock_timestamp() - $1::float8 * interval '1 millisecond'`

/** What the workers whose hearts beat have handlers for. */
export async function listHandled(
  connection: Connection,
  deadAfterMs: number,
): Promise<readonly HandledPattern[]> {
  const { rows } = await connection.query<'handles'>(LIST, [deadAfterMs])
  return rows.flatMap(({ handles }) => JSON.parse(handles ?? '[]') as HandledPattern[])
}
