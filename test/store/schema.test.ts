import fs from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { generateSchema } from '../../scripts/generate-schema.ts'
import { printMigrations as printPostgres } from '../../src/store/postgres/index.ts'
import { printMigrations as printSqlite } from '../../src/store/sqlite/index.ts'

const ROOT = path.join(import.meta.dirname, '../..')

describe('the schema in the docs', () => {
  test.each(Object.entries(generateSchema()))(
    '%s is what a store makes in an empty database (npm run generate:schema writes it)',
    (file, text) => {
      expect(fs.readFileSync(path.join(ROOT, file), 'utf8')).toBe(text)
    },
  )
})

describe('the two schemas', () => {
  const postgres = readSchema(printPostgres(), '"hookonce".')
  const sqlite = readSchema(printSqlite(), 'hookonce_')

  test('have the same tables and columns by the same names', () => {
    expect(without(postgres.columns, ONLY_IN_POSTGRES)).toEqual(
      without(sqlite.columns, ONLY_IN_SQLITE),
    )
  })

  test('have the same indexes by the same names', () => {
    expect(postgres.indexes).toEqual(sqlite.indexes)
  })

  test('differ in no more than what is listed', () => {
    expect(ONLY_IN_POSTGRES.filter((column) => !postgres.columns.includes(column))).toEqual([])
    expect(ONLY_IN_SQLITE.filter((column) => !sqlite.columns.includes(column))).toEqual([])
  })
})

/** What an engine needs that the other does not. */
const ONLY_IN_POSTGRES = [
  // Bodies are read as text or as hex, and not beyond a budget.
  'events.is_text',
  'queue.bytes',
  // Two lists where SQLite has one of JSON.
  'workers.running_attempts',
  // SQLite's driver knows who ends a transaction.
  'commit_fences.worker_id',
  'commit_fences.slot',
  'commit_fences.uses',
]
const ONLY_IN_SQLITE = [
  // All workers are on one machine, where it can be seen whether a process lives.
  'workers.hostname',
  'workers.pid',
  // Milliseconds do not tell which of two came first.
  'attempts.number',
  'message_attempts.number',
]

interface Schema {
  /** As table.column. */
  readonly columns: readonly string[]
  readonly indexes: readonly string[]
}

function readSchema(sql: string, prefix: string): Schema {
  const name = `(?:${prefix.replace('.', '\\.')})`
  const tables = [
    ...sql.matchAll(
      new RegExp(`create table (?:if not exists )?${name}(\\w+) \\(\\n([^;]*?)\\n\\)`, 'g'),
    ),
  ]
  const columns = tables.flatMap(([, table = '', body = '']) =>
    [
      ...body.matchAll(
        /^ {2}(\w+) +(?:uuid|text|bytea|blob|boolean|smallint|integer|bigint|timestamptz)/gm,
      ),
    ].map(([, column = '']) => `${table}.${column}`),
  )
  const indexes = [...sql.matchAll(new RegExp(`create index ${name}?(\\w+) on`, 'g'))].map(
    ([, index = '']) => index,
  )
  expect(columns.length).toBeGreaterThan(60)
  expect(indexes.length).toBeGreaterThan(10)
  return { columns: columns.sort(), indexes: indexes.sort() }
}

function without(all: readonly string[], some: readonly string[]): readonly string[] {
  return all.filter((one) => !some.includes(one))
}
