import type { Connection } from '../connection.ts'

const COUNT = `
  select count(*) as found
    from {prefix}events`

// 1 source
const COUNT_OF_SOURCE = `
  select count(*) as found
    from {prefix}events
   where source = ?`

export function countEvents(connection: Connection, source: string | undefined): number {
  const [row] =
    source === undefined
      ? connection.all<{ found: number }>(COUNT)
      : connection.all<{ found: number }>(COUNT_OF_SOURCE, [source])
  return row?.found ?? 0
}
