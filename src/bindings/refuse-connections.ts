/**
 * What a binding may be given by mistake: a pool, or what else has connections of its own. Some of these have no key
 * that an options object would not have, and would be taken for one.
 *
 * @module
 */

import { OptionInvalidError } from '../errors.ts'

/**
 * `instead` says what to give.
 *
 * @throws OptionInvalidError for what is known to have connections of its own
 */
export function refuseConnections(binding: string, given: unknown, instead: string): void {
  const what = KNOWN.find(({ isMeant }) => isMeant(given))?.what
  if (what === undefined) return
  throw new OptionInvalidError(binding, {
    message: `${binding} was given ${what}: what that writes would not commit with the event. Give a pool to postgresStore({ pool }), a file to sqliteStore(file), and here ${instead}`,
  })
}

interface Known {
  readonly what: string
  readonly isMeant: (given: unknown) => boolean
}

const KNOWN: readonly Known[] = [
  { what: 'a pool of pg', isMeant: (given) => has(given, ['connect', 'query'], ['totalCount']) },
  {
    what: 'a client of pg',
    isMeant: (given) => has(given, ['connect', 'query'], ['connectionParameters']),
  },
  { what: 'a database of Kysely', isMeant: (given) => has(given, ['selectFrom', 'getExecutor']) },
  {
    what: 'a database of Drizzle',
    isMeant: (given) => has(given, ['select'], ['dialect', 'session']),
  },
  {
    what: 'an instance of Knex',
    isMeant: (given) => has(given, ['raw', 'transaction'], ['client']),
  },
  {
    what: 'a sql of postgres.js',
    isMeant: (given) => has(given, ['unsafe', 'begin'], ['options']),
  },
  { what: 'a client of Prisma', isMeant: (given) => has(given, ['$connect', '$disconnect']) },
  { what: 'a connection to SQLite', isMeant: (given) => has(given, ['prepare', 'exec']) },
]

function has(given: unknown, methods: readonly string[], members: readonly string[] = []): boolean {
  if ((typeof given !== 'object' || given === null) && typeof given !== 'function') return false
  return (
    methods.every((name) => typeof Reflect.get(given, name) === 'function') &&
    members.every((name) => name in given)
  )
}
