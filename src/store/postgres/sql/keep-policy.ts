import type { Connection } from '../connection.ts'

// $1 how long things are kept, as JSON
const KEEP = `
  insert into {schema}.meta (name, value)
  values ('retention', $1)
      on conflict (name) do update
     set value = excluded.value
   where meta.value <> excluded.value`

/** For a pruner without an inbox: a call from SQL, an operator of another process. */
export async function keepPolicy(connection: Connection, policy: string): Promise<void> {
  await connection.query(KEEP, [policy])
}

const FIND = `
  select value
    from {schema}.meta
   where name = 'retention'`

export async function findPolicy(connection: Connection): Promise<string | undefined> {
  const { rows } = await connection.query<'value'>(FIND)
  return rows[0]?.value ?? undefined
}
