import type { KeptKeys } from '../../shared/encryption/check-keys.ts'
import { KEY_CHECK, KEY_USE, readKeptKeys } from '../../shared/encryption/kept-keys.ts'
import type { Connections } from '../connections.ts'

// $1 the beginning of a check's name  $2 of a use's
const LIST = `
  select name, value
    from {schema}.meta
   where starts_with(name, $1) or starts_with(name, $2)`

// $1 name  $2 value, or null for the time
const ADD = `
  insert into {schema}.meta (name, value)
  values ($1, coalesce($2, ((extract(epoch from clock_timestamp()) * 1000)::bigint)::text))
      on conflict do nothing`

// $1 the beginning of a use's name
const USE_NONE = `
  delete from {schema}.meta
   where starts_with(name, $1)`

/** The keys that a database knows, in its table `meta`. */
export function keepKeys(connections: Connections): KeptKeys {
  const write = (sql: string, values: unknown[]) =>
    connections.transact(async (connection) => {
      await connection.query(sql, values)
    })
  return {
    list: () =>
      connections.use(async (connection) => {
        const { rows } = await connection.query<'name' | 'value'>(LIST, [KEY_CHECK, KEY_USE])
        return readKeptKeys(rows)
      }),
    add: ({ id, check }) => write(ADD, [`${KEY_CHECK}${id}`, check]),
    use: (id) => write(ADD, [`${KEY_USE}${id}`, null]),
    useNone: () => write(USE_NONE, [KEY_USE]),
  }
}
