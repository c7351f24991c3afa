import type { KeptKeys } from '../../shared/encryption/check-keys.ts'
import { KEY_CHECK, KEY_USE, readKeptKeys } from '../../shared/encryption/kept-keys.ts'
import type { Connections } from '../connections.ts'

// 1 the beginning of a check's name  2 of a use's
const LIST = `
  select name, value
    from {prefix}meta
   where instr(name, ?) = 1 or instr(name, ?) = 1`

// 1 name  2 value, or null for the time
const ADD = `
  insert into {prefix}meta (name, value)
  values (?, coalesce(?, cast(cast(unixepoch('subsec') * 1000 as integer) as text)))
      on conflict do nothing`

// 1 the beginning of a use's name
const USE_NONE = `
  delete from {prefix}meta
   where instr(name, ?) = 1`

/** The keys that a database knows, in its table `meta`. */
export function keepKeys(connections: Connections): KeptKeys {
  const write = (sql: string, values: readonly unknown[]) =>
    connections.write('durably', (connection) => {
      connection.run(sql, values)
    })
  return {
    list: async () =>
      readKeptKeys(
        await connections.read((reader) =>
          reader.all<{ name: string; value: string }>(LIST, [KEY_CHECK, KEY_USE]),
        ),
      ),
    add: ({ id, check }) => write(ADD, [`${KEY_CHECK}${id}`, check]),
    use: (id) => write(ADD, [`${KEY_USE}${id}`, null]),
    useNone: () => write(USE_NONE, [KEY_USE]),
  }
}
