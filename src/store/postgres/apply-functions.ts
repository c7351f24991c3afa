/**
 * Puts this release's functions into the database, in a transaction that holds the migration lock.
 *
 * - `create or replace` keeps the function's identity and the rights that were granted on it, and calls that are
 *   running end as they began.
 * - What has other arguments is another function to PostgreSQL, and stays beside the new one: a call could then mean
 *   either. It is dropped.
 * - What returns something else cannot be replaced. It is dropped and made again.
 *
 * Only PostgreSQL: SQLite has no functions in the database.
 *
 * @module
 */

import type { Connection } from './connection.ts'
import { FUNCTIONS, ownFunctions, signatureOf } from './functions.ts'
import type { FunctionSet } from './functions.ts'
import { findSqlState } from './store-error.ts'

/** Runs inside a transaction of the caller. */
export async function applyFunctions(connection: Connection, schema: string): Promise<void> {
  const bind = (sql: string): string => sql.replaceAll('{schema}', `"${schema}"`)
  await connection.run(bind(dropOthers()))
  for (const sql of FUNCTIONS) await createOrReplace(connection, bind(sql), bind(describe(sql)))
  await connection.query(RECORD_OWN, [valueOfOwn()])
}

/** The statements of `applyFunctions`, to be read or run by hand. */
export function printFunctions(): readonly string[] {
  const record = `${RECORD_OWN.replace('$1', `'${valueOfOwn()}'`).trim()};`
  return [dropOthers(), ...FUNCTIONS.map((sql) => sql.trim()), record]
}

const FIND = `
  select value
    from {schema}.meta
   where name = 'functions'`

/** The set that is in the database, once there is one. */
export async function findFunctions(connection: Connection): Promise<FunctionSet | undefined> {
  const { rows } = await connection.query<'value'>(FIND)
  const [revision, checksum] = rows[0]?.value?.split(' ') ?? []
  if (revision === undefined || checksum === undefined) return undefined
  return { revision: Number(revision), checksum }
}

// $1 signatures
const HAS_ALL = `
  select bool_and(to_regprocedure(signature) is not null) as has_all
    from unnest($1::text[]) signature`

/** Whether every function that this release calls is there, with the arguments that it gives. */
export async function hasOwnFunctions(connection: Connection, schema: string): Promise<boolean> {
  const signatures = FUNCTIONS.map((sql) => describe(sql).replaceAll('{schema}', `"${schema}"`))
  const { rows } = await connection.query<'has_all'>(HAS_ALL, [signatures])
  return rows[0]?.has_all === 't'
}

async function createOrReplace(
  connection: Connection,
  sql: string,
  signature: string,
): Promise<void> {
  await connection.run('savepoint hookonce_function')
  try {
    await connection.run(sql)
  } catch (error) {
    if (findSqlState(error) !== CANNOT_REPLACE) throw error
    await connection.run(`rollback to savepoint hookonce_function; drop function ${signature}`)
    await connection.run(sql)
  }
  await connection.run('release savepoint hookonce_function')
}

/** invalid_function_definition, as with a result or a name of an argument that has changed. */
const CANNOT_REPLACE = '42P13'

function describe(sql: string): string {
  const { name, types } = signatureOf(sql)
  return `{schema}.${name}(${types})`
}

/** Of our names only: the schema may have functions of the user's. */
function dropOthers(): string {
  const wanted = FUNCTIONS.map((sql) => `('${signatureOf(sql).name}', '${describe(sql)}')`)
  return `do $drop_others$
declare
  other regprocedure;
begin
  for other in
    select p.oid
      from pg_proc p
      join (values ${wanted.join(',\n                   ')}) as wanted (name, signature)
        on wanted.name = p.proname
     where p.pronamespace = to_regnamespace('{schema}')
       and p.oid is distinct from to_regprocedure(wanted.signature)
  loop
    execute 'drop function ' || other;
  end loop;
end
$drop_others$;`
}

// $1 revision and checksum
const RECORD_OWN = `
  insert into {schema}.meta (name, value)
  values ('functions', $1)
      on conflict (name) do update set value = excluded.value`

function valueOfOwn(): string {
  const { revision, checksum } = ownFunctions()
  return `${revision} ${checksum}`
}
