import type { Connection } from '../connection.ts'

// 1 destination  2 within ms
const NEXT_DUE = `
  select min(send_at) - cast(unixepoch('subsec') * 1000 as integer) as due_in_ms
    from {prefix}message_queue
   where destination = ?1
     and send_at <= cast(unixepoch('subsec') * 1000 as integer) + ?2
     and not exists (select 1 from {prefix}pauses where kind = 'destination' and name = ?1)`

export function findNextMessageDueInMs(
  connection: Connection,
  destinations: readonly string[],
  withinMs: number,
): number | undefined {
  const waits = destinations
    .map(
      (name) =>
        connection.all<{ due_in_ms: number | null }>(NEXT_DUE, [name, withinMs])[0]?.due_in_ms,
    )
    .filter((wait) => wait != null)
  return waits.length === 0 ? undefined : Math.max(0, Math.min(...waits))
}
