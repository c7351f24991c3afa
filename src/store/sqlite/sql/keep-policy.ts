import type { Connection } from '../connection.ts'

// 1 how long things are kept, as JSON
const KEEP = `
  insert into {prefix}meta (name, value)
  values ('retention', ?)
      on conflict (name) do update
     set value = excluded.value`

/** For a pruner without an inbox: an operator of another process. Inside a write transaction. */
export function keepPolicy(connection: Connection, policy: string): void {
  connection.run(KEEP, [policy])
}

const FIND = `
  select value
    from {prefix}meta
   where name = 'retention'`

export function findPolicy(connection: Connection): string | undefined {
  return connection.all<{ value: string }>(FIND)[0]?.value
}
