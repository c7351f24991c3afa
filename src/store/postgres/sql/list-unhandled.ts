import type { Connection } from '../connection.ts'

// $1 limit
const LIST = `
  select distinct wake_key
    from {schema}.queue
   where parked = 'unhandled' and wake_key is not null
   limit $1`

/** The (source, type) pairs of events that no handler was found for. */
export async function listUnhandled(
  connection: Connection,
  limit: number,
): Promise<readonly { source: string; type: string }[]> {
  const { rows } = await connection.query<'wake_key'>(LIST, [limit])
  return rows.map(({ wake_key: wakeKey }) => {
    const [source = '', ...type] = (wakeKey ?? '').split('\u001f')
    return { source, type: type.join('\u001f') }
  })
}
