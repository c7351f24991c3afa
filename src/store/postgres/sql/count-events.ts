import type { Connection } from '../connection.ts'
import { withoutNul } from '../../shared/without-nul.ts'

// $1 source, all of them when null
const COUNT = `
  select count(*) as found
    from {schema}.events
   where $1::text is null or source = $1`

export async function countEvents(
  connection: Connection,
  source: string | undefined,
): Promise<number> {
  const { rows } = await connection.query<'found'>(COUNT, [
    source === undefined ? null : withoutNul(source),
  ])
  return Number(rows[0]?.found)
}
