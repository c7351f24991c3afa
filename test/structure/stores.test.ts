import fs from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { HeldTransaction as PostgresHeld } from '../../src/store/postgres/held-transaction.ts'
import { HeldTransaction as SqliteHeld } from '../../src/store/sqlite/held-transaction.ts'

const STORES = fileURLToPath(new URL('../../src/store', import.meta.url))
const ENGINES = { postgres: 'PostgreSQL', sqlite: 'SQLite' } as const
type Engine = keyof typeof ENGINES

const files = { postgres: listFiles('postgres'), sqlite: listFiles('sqlite') }
const twins = files.postgres.filter((file) => files.sqlite.includes(file))

describe('the two stores', () => {
  test.each([
    ['postgres', 'sqlite'],
    ['sqlite', 'postgres'],
  ] as const)('have the same files; one that only %s needs says why', (engine, other) => {
    const alone = files[engine].filter((file) => !files[other].includes(file))
    const unexplained = alone.filter((file) => !explains(engine, read(engine, file)))
    const contradicted = twins.filter((file) => explains(engine, read(engine, file)))

    expect({ unexplained, contradicted }).toEqual({ unexplained: [], contradicted: [] })
    expect(twins.length).toBeGreaterThan(50)
  })

  test('call the same thing by the same name', () => {
    const named = twins
      .filter((file) => !file.startsWith('sql/'))
      .map((file) => [file, findMain('postgres', file), findMain('sqlite', file)])
      // Types of two drivers, and what their schemas are made of.
      .filter(([, postgres, sqlite]) => postgres !== undefined && sqlite !== undefined)

    expect(named.filter(([, postgres, sqlite]) => postgres !== sqlite)).toEqual([])
    expect(named.map(([, name]) => name)).toContain('HeldTransaction')
  })

  test('lend transactions that can do the same', () => {
    const sqlite = listMethods(SqliteHeld.prototype)

    expect(listMethods(PostgresHeld.prototype).filter((name) => !sqlite.includes(name))).toEqual([])
    expect(sqlite).toContain('commit')
  })
})

function listFiles(engine: Engine): readonly string[] {
  return fs
    .readdirSync(path.join(STORES, engine), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .map((file) => file.split(path.sep).join('/'))
    .sort()
}

function read(engine: Engine, file: string): string {
  return fs.readFileSync(path.join(STORES, engine, file), 'utf8')
}

/** In the comment at its head: "Only PostgreSQL: …". */
function explains(engine: Engine, text: string): boolean {
  const head = text.startsWith('/**') ? text.slice(0, text.indexOf('*/')) : ''
  return new RegExp(` \\* Only ${ENGINES[engine]}: \\S+ \\S+`).test(head)
}

/** The first class or function that a file exports, without the name of its engine. */
function findMain(engine: Engine, file: string): string | undefined {
  const found = /^export (?:async )?(?:class|function) (\w+)/m.exec(read(engine, file))
  return found?.[1]?.replace(/postgres|sqlite/i, '')
}

function listMethods(prototype: object): readonly string[] {
  return Object.getOwnPropertyNames(prototype)
}
