/**
 * Our tables and functions as files of the tool that migrates the user's own.
 *
 * A version of the tables is a file, and so are the functions. Both have their number in the name, so that those of
 * a later release are found by being new. There is no transaction in them: each of the tools opens its own.
 *
 * Only PostgreSQL: a SQLite file is migrated by the process that opens it.
 *
 * @module
 */

import { OptionInvalidError } from '../../errors.ts'
import { rejectUnknownKeys } from '../../options/reject-unknown-keys.ts'
import { requireOneOf } from '../../options/require-one-of.ts'
import { listScripts } from './migrate.ts'
import type { MigrationScript } from './migrate.ts'
import { requireSchema } from './options.ts'

/** For which tool, and where the tables are to be. */
export interface ExportMigrationsOptions {
  /** The tool that runs them. `flyway` is for all that read `V…__….sql` and `R__….sql`. */
  readonly tool: 'drizzle' | 'flyway' | 'knex' | 'prisma'
  /**
   * The schema that holds the tables, as the store has it.
   *
   * @defaultValue 'hookonce'
   */
  readonly schema?: string
  /** The time in the names of the files, which puts them in order among yours. Left out, it is now. */
  readonly at?: Date
}

/** One file for the folder in which the tool looks. */
export interface MigrationFile {
  /** Without what is different each time, such as `hookonce_tables_1`: whether you have it already is asked by this. */
  readonly name: string
  /** From that folder, such as `20261116120000_hookonce_tables_1/migration.sql`. */
  readonly path: string
  readonly text: string
}

/**
 * What `migrate: 'auto'` would run on an empty database, as migrations of your own tool. Add those that you do not
 * have yet, after each update of the package, and open the store with `migrate: 'check'`.
 *
 * @throws OptionInvalidError for an option that is unknown or cannot be used
 */
export function exportMigrations(options: ExportMigrationsOptions): readonly MigrationFile[] {
  if (typeof options !== 'object' || options === null)
    throw new OptionInvalidError(
      'exportMigrations',
      "given an object such as { tool: 'prisma' }",
      options,
    )
  rejectUnknownKeys('exportMigrations', options, ['tool', 'schema', 'at'])
  const { tool, schema = 'hookonce', at = new Date() } = options
  requireOneOf('exportMigrations.tool', tool, ['drizzle', 'flyway', 'knex', 'prisma'])
  requireSchema(schema)
  if (!(at instanceof Date) || Number.isNaN(at.getTime()))
    throw new OptionInvalidError('exportMigrations.at', 'a valid Date', at)
  return listScripts(`"${schema}"`).map((script, position) => {
    const name = `hookonce_${script.of}_${script.number}`
    const file = LAYOUTS[tool]({ script, name, stamp: stampOf(at, position) })
    return { name, ...file }
  })
}

interface Part {
  readonly script: MigrationScript
  readonly name: string
  readonly stamp: string
}

type Layout = (part: Part) => Pick<MigrationFile, 'path' | 'text'>

const LAYOUTS: Readonly<Record<ExportMigrationsOptions['tool'], Layout>> = {
  // Numbered by drizzle-kit, which also writes it into its journal: `drizzle-kit generate --custom --name …`.
  drizzle: ({ script, name }) => ({ path: `${name}.sql`, text: script.sql }),
  // What is repeatable is run again when its text has changed, after all that has a version: what functions need.
  flyway: ({ script, name, stamp }) => ({
    path: script.of === 'functions' ? 'R__hookonce_functions.sql' : `V${stamp}__${name}.sql`,
    text: script.sql,
  }),
  // An extension that Knex loads in packages of either kind.
  knex: ({ script, name, stamp }) => ({ path: `${stamp}_${name}.cjs`, text: asKnex(script.sql) }),
  prisma: ({ script, name, stamp }) => ({
    path: `${stamp}_${name}/migration.sql`,
    text: script.sql,
  }),
}

/** A second later for each, since files are run in the order of their names. */
function stampOf(at: Date, position: number): string {
  const time = new Date(at.getTime() + position * 1_000)
  return time.toISOString().replace(/\D/g, '').slice(0, 14)
}

function asKnex(sql: string): string {
  const literal = sql.replace(/[\\`]|\$\{/g, String.raw`\$&`)
  return `exports.up = (knex) => knex.raw(\`
${literal}\`)

exports.down = () => {
  throw new Error('Events would be lost. Drop the schema of hookonce by hand if you mean it.')
}
`
}
