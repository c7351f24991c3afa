import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { drizzle } from 'drizzle-orm/node-postgres'
import { migrate as migrateDrizzle } from 'drizzle-orm/node-postgres/migrator'
import knex from 'knex'
import { describe, expect, onTestFinished, test } from 'vitest'
import { createInbox } from '../../../src/inbox/inbox.ts'
import { hmac } from '../../../src/providers/hmac.ts'
import { exportMigrations, postgresStore } from '../../../src/store/postgres/index.ts'
import type { MigrationFile } from '../../../src/store/postgres/index.ts'
import { sign } from '../../../src/testing/index.ts'
import { PING_OPTIONS } from '../../support/inbox-under-test.ts'
import {
  createEmptyPostgresDatabase,
  hasNoPostgres,
  newPool,
} from '../../support/postgres/open-postgres.ts'
import type { ConnectionConfig } from '../../support/postgres/start-postgres.ts'

const SCHEMA = 'our_events'
const AT = new Date('2026-11-16T12:00:00Z')

type Tool = Parameters<typeof exportMigrations>[0]['tool']

/** The files in a folder of their own, for the length of the running test. */
function writeFiles(files: readonly Pick<MigrationFile, 'path' | 'text'>[]): string {
  const folder = mkdtempSync(join(tmpdir(), 'hookonce-migrations-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  for (const { path, text } of files) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
  return folder
}

const exportFor = (tool: Tool) => exportMigrations({ tool, schema: SCHEMA, at: AT })

/** How each tool runs its files. Prisma's runner is a binary, and Flyway another language: both run a file as it is. */
const RUNNERS: Readonly<Record<Tool, (config: ConnectionConfig) => Promise<void>>> = {
  drizzle: async (config) => {
    const files = exportFor('drizzle').map((file, at) => ({
      tag: `000${at}_${file.name}`,
      path: `000${at}_${file.path}`,
      text: file.text,
    }))
    const entries = files.map(({ tag }, idx) => ({
      idx,
      version: '7',
      when: AT.getTime() + idx,
      tag,
      breakpoints: true,
    }))
    const journal = { version: '7', dialect: 'postgresql', entries }
    const path = 'meta/_journal.json'
    const folder = writeFiles([...files, { path, text: JSON.stringify(journal) }])
    await migrateDrizzle(drizzle(newPool(config)), { migrationsFolder: folder })
  },
  knex: async (config) => {
    const db = knex({ client: 'pg', connection: { ...config } })
    onTestFinished(() => db.destroy())
    await db.migrate.latest({ directory: writeFiles(exportFor('knex')) })
    await expect(db.migrate.rollback({ directory: writeFiles(exportFor('knex')) })).rejects.toThrow(
      'Events would be lost',
    )
  },
  prisma: (config) => runInOrder(config, exportFor('prisma')),
  flyway: async (config) => {
    await runInOrder(config, exportFor('flyway'))
    // What is repeatable is run again when its text has changed.
    await runInOrder(
      config,
      exportFor('flyway').filter(({ path }) => path.startsWith('R__')),
    )
  },
}

/** By their names: those with a version first, as Flyway does it. */
async function runInOrder(
  config: ConnectionConfig,
  files: readonly MigrationFile[],
): Promise<void> {
  const pool = newPool(config)
  const inOrder = files.toSorted(
    (a, b) =>
      Number(a.path.startsWith('R__')) - Number(b.path.startsWith('R__')) ||
      (a.path < b.path ? -1 : 1),
  )
  for (const { text } of inOrder) await pool.query(`begin;\n${text}\ncommit`)
}

describe.skipIf(hasNoPostgres)('exportMigrations', () => {
  test.each(Object.keys(RUNNERS) as Tool[])(
    'gives %s what an inbox needs that creates nothing itself',
    async (tool) => {
      const config = await createEmptyPostgresDatabase()
      await RUNNERS[tool](config)
      const pool = newPool(config)
      const inbox = createInbox({
        store: postgresStore({ pool, schema: SCHEMA, migrate: 'check' }),
        sources: { pings: hmac(PING_OPTIONS) },
        worker: { pollMs: 50 },
      })
      onTestFinished(() => inbox.stop())
      const done = new Promise((resolve) => inbox.events.on('event.done', resolve))
      inbox.on('pings', '*', async ({ key }, { tx }) => {
        await tx.query('create table effects as select $1::text as key', [key])
      })
      await inbox.start()

      const answer = await inbox.receive(
        'pings',
        sign('hmac', { body: 'evt_1', headers: { 'x-id': 'evt_1' } }, PING_OPTIONS),
      )
      expect(answer).toMatchObject({ outcome: 'accepted' })
      await done

      expect((await pool.query('select key from effects')).rows).toEqual([{ key: 'evt_1' }])
      const { rows } = await pool.query(
        `select distinct schemaname from pg_tables where tablename = 'migrations' and schemaname <> 'drizzle'`,
      )
      expect(rows).toEqual([{ schemaname: SCHEMA }])
    },
  )
})

describe('exportMigrations', () => {
  test.each([
    ['drizzle', ['hookonce_tables_1.sql', 'hookonce_functions_1.sql']],
    ['flyway', ['V20261116120000__hookonce_tables_1.sql', 'R__hookonce_functions.sql']],
    ['knex', ['20261116120000_hookonce_tables_1.cjs', '20261116120001_hookonce_functions_1.cjs']],
    [
      'prisma',
      [
        '20261116120000_hookonce_tables_1/migration.sql',
        '20261116120001_hookonce_functions_1/migration.sql',
      ],
    ],
  ] as const)('names files as %s does, in the order in which they are run', (tool, paths) => {
    const files = exportMigrations({ tool, at: AT })

    expect(files.map(({ path }) => path)).toEqual(paths)
    expect(files.map(({ name }) => name)).toEqual(['hookonce_tables_1', 'hookonce_functions_1'])
  })

  test('has no transaction of its own, and no place that a tool would fill in', () => {
    for (const { text } of exportFor('prisma')) {
      expect(text).not.toMatch(/^\s*(?:begin|commit);/im)
      expect(text).not.toContain('${')
      expect(text).not.toContain('{schema}')
      expect(text).not.toContain('"hookonce"')
    }
  })

  test('refuses a tool and a schema that it does not know', () => {
    expect(() => exportMigrations({ tool: 'rails' } as never)).toThrow('exportMigrations.tool')
    expect(() => exportMigrations({ tool: 'knex', schema: 'Ours' })).toThrow('lower-case')
    expect(() => exportMigrations({ tool: 'knex', at: new Date('never') })).toThrow('a valid Date')
    expect(() => exportMigrations({ tool: 'knex', folder: 'db' } as never)).toThrow('folder')
    expect(() => exportMigrations(undefined as never)).toThrow('exportMigrations')
  })
})
