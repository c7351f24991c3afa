/**
 * Writes what a store makes in an empty database, as it is under the default names: `docs/reference/schema/`. To be
 * read, and to see in a review what a change does to the tables.
 *
 *     npx tsx scripts/generate-schema.ts
 *
 * @module
 */

import fs from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { printMigrations as printPostgres } from '../src/store/postgres/index.ts'
import { printMigrations as printSqlite } from '../src/store/sqlite/index.ts'

const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..')

/** The files and what they should say. */
export function generateSchema(): Readonly<Record<string, string>> {
  return {
    'docs/reference/schema/postgres.sql': printPostgres(),
    'docs/reference/schema/sqlite.sql': printSqlite(),
  }
}

function main(): void {
  for (const [file, text] of Object.entries(generateSchema())) {
    const target = path.join(ROOT, file)
    fs.mkdirSync(path.dirname(target), { recursive: true })
    fs.writeFileSync(target, text)
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) main()
