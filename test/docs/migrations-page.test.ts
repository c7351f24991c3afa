/**
 * The programs of `docs/guides/migrations.md`, run twice in a project that has a migration of its own, and what they
 * wrote run by the tool on a real PostgreSQL.
 */

import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { drizzle } from 'drizzle-orm/node-postgres'
import { migrate as migrateDrizzle } from 'drizzle-orm/node-postgres/migrator'
import knex from 'knex'
import { expect, onTestFinished, test } from 'vitest'
import { postgresStore } from '../../src/store/postgres/index.ts'
import { createEmptyPostgresDatabase, newPool } from '../support/postgres/open-postgres.ts'
import type { ConnectionConfig } from '../support/postgres/start-postgres.ts'
import { assembleSnippets } from './compile-blocks.ts'
import { listBlocks, readPage } from './markdown.ts'
import { runSnippet } from './run-snippet.ts'

const programs = assembleSnippets(listBlocks(readPage('docs/guides/migrations.md')))
const find = (tool: string) => programs.find(({ code }) => code.includes(`tool: '${tool}'`))!.code

const OWN = 'create table invoices (id text);'

interface Tool {
  readonly name: string
  /** As the page has it, or as its text says that it is for the tool. */
  readonly program: string
  /** From the project's folder. */
  readonly folder: string
  /** The user's own files, by their names in the folder. */
  readonly own: Readonly<Record<string, string>>
  run(config: ConnectionConfig, folder: string): Promise<void>
  /** Whether it is the tool itself that runs, which knows what it has run. */
  readonly isItself?: boolean
}

function forTool(name: string, folder: string): string {
  const program = find('prisma').replace("tool: 'prisma'", `tool: '${name}'`)
  return program.replace("folder = 'prisma/migrations'", `folder = '${folder}'`)
}

const OWN_ENTRY = {
  idx: 0,
  version: '7',
  // In the future, as where a clock was wrong.
  when: Date.now() + 86_400_000,
  tag: '0000_mine',
  breakpoints: true,
}

const TOOLS: readonly Tool[] = [
  {
    name: 'prisma',
    program: find('prisma'),
    folder: 'prisma/migrations',
    own: { '20200101000000_mine/migration.sql': OWN },
    // Its runner is a binary that it downloads. It runs a file as it is, in a transaction.
    run: (config, folder) =>
      runTexts(
        config,
        readdirSync(folder)
          .toSorted()
          .map((name) => join(folder, name, 'migration.sql')),
      ),
  },
  {
    name: 'knex',
    program: forTool('knex', 'migrations'),
    folder: 'migrations',
    isItself: true,
    own: {
      '20200101000000_mine.cjs': `exports.up = (knex) => knex.raw('${OWN}')\nexports.down = () => {}`,
    },
    run: async (config, directory) => {
      const db = knex({ client: 'pg', connection: { ...config } })
      try {
        await db.migrate.latest({ directory })
      } finally {
        await db.destroy()
      }
    },
  },
  {
    name: 'drizzle',
    program: find('drizzle'),
    folder: 'drizzle',
    isItself: true,
    own: {
      '0000_mine.sql': OWN,
      'meta/_journal.json': JSON.stringify({
        version: '7',
        dialect: 'postgresql',
        entries: [OWN_ENTRY],
      }),
    },
    run: (config, migrationsFolder) =>
      migrateDrizzle(drizzle(newPool(config)), { migrationsFolder }),
  },
  {
    name: 'flyway',
    program: forTool('flyway', 'sql'),
    folder: 'sql',
    own: { 'V20200101000000__mine.sql': OWN },
    // It is written in another language. What has a version is run first.
    run: (config, folder) => {
      const isRepeatable = (file: string) => Number(file.startsWith('R__'))
      const names = readdirSync(folder)
        .toSorted()
        .toSorted((a, b) => isRepeatable(a) - isRepeatable(b))
      return runTexts(
        config,
        names.map((name) => join(folder, name)),
      )
    },
  },
]

async function runTexts(config: ConnectionConfig, files: readonly string[]): Promise<void> {
  const pool = newPool({ ...config, max: 1 })
  for (const file of files) {
    await pool.query('begin')
    await pool.query(readFileSync(file, 'utf8'))
    await pool.query('commit')
  }
}

test.each(TOOLS)(
  'for $name files are written once, and a store that may create nothing opens on what they make',
  async ({ program, folder: below, own, run, isItself }) => {
    const project = mkdtempSync(join(tmpdir(), 'hookonce-migrations-'))
    onTestFinished(() => rmSync(project, { recursive: true, force: true }))
    const folder = join(project, below)
    for (const [name, text] of Object.entries(own)) {
      mkdirSync(dirname(join(folder, name)), { recursive: true })
      writeFileSync(join(folder, name), text)
    }
    const read = () =>
      readdirSync(folder, { recursive: true, encoding: 'utf8' })
        .toSorted()
        .filter((name) => /\.\w+$/.test(name))
        // What is repeatable is written anew, and is the same.
        .map((name) => [name, readFileSync(join(folder, name), 'utf8')])
    const code = `process.chdir(process.env.PROJECT)\n${program}`

    expect(await runSnippet({ code }, { PROJECT: project })).toMatchObject({ code: 0 })
    const written = read()
    const config = await createEmptyPostgresDatabase()
    await run(config, folder)

    expect(await runSnippet({ code }, { PROJECT: project })).toMatchObject({ code: 0 })
    expect(read()).toEqual(written)
    if (isItself === true) await run(config, folder)
    const names = written.map(([name]) => name).join(' ')
    expect(names).toContain('hookonce_tables_1')
    expect(names).toContain('hookonce_functions')
    const pool = newPool(config)
    expect((await pool.query('select * from invoices')).rows).toEqual([])
    const store = postgresStore({ pool, migrate: 'check' })
    onTestFinished(() => store.close())
    await store.open()
  },
)
