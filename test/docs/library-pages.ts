/**
 * What the pages of database libraries promise: their blocks as services on real databases, to which each event comes
 * twice, and whose effects are counted by the database.
 *
 * @module
 */

import { assembleSnippets } from './compile-blocks.ts'
import { listBlocks, readPage } from './markdown.ts'
import type { SnippetHome } from './run-snippet.ts'
import { serveBlock } from './serve-block.ts'

type Engine = 'postgres' | 'sqlite'

/** How a library has the table of invoices. */
export interface InvoicesAs {
  readonly engine?: Engine
  readonly table?: string
  readonly columns?: string
  readonly home?: SnippetHome
}

/** Serves the first block, whose handler updates an invoice. Resolves to the updates that there were. */
export async function serveInvoices(
  code: string,
  {
    engine = 'postgres',
    table = 'invoices',
    columns = 'id text primary key, status text',
    home,
  }: InvoicesAs = {},
): Promise<readonly unknown[]> {
  const name = `"${table}"`
  const tables = [
    `create table ${name} (${columns})`,
    `insert into ${name} (id) values ('in_1'), ('in_2')`,
    'create table effects (invoice text)',
    ...COUNT_UPDATES[engine](name),
  ]
  const body = { object: 'event', data: { object: { id: 'in_1', object: 'invoice' } } }
  const deliveries = [{ type: 'invoice.paid', key: 'evt_1', body }]
  const select = 'select invoice from effects'
  return serveBlock({ code, engine, tables, deliveries, select, ...(home && { home }) })
}

/** An update that is made twice would leave the same row. */
const COUNT_UPDATES: Readonly<Record<Engine, (table: string) => readonly string[]>> = {
  postgres: (table) => [
    `create function count_update() returns trigger language plpgsql
       as $$ begin insert into effects values (new.id); return null; end $$`,
    `create trigger counts after update on ${table} for each row execute function count_update()`,
  ],
  sqlite: (table) => [
    `create trigger counts after update on ${table}
       begin insert into effects values (new.id); end`,
  ],
}

/** Serves the block for SQLite, whose handler inserts a push. Resolves to the pushes. */
export async function servePushes(
  code: string,
  { table = 'pushes', columns, home }: Pick<InvoicesAs, 'table' | 'columns' | 'home'>,
): Promise<readonly unknown[]> {
  const body = { ref: 'refs/heads/main' }
  return serveBlock({
    code,
    engine: 'sqlite',
    tables: [`create table ${table} (${columns})`],
    deliveries: [{ source: 'github', type: 'push', key: 'push-1', body }],
    select: `select * from ${table}`,
    ...(home && { home }),
  })
}

/** The blocks that register handlers, the first of them that for PostgreSQL. */
export function listServices(page: string): readonly string[] {
  return assembleSnippets(listBlocks(readPage(page)))
    .map(({ code }) => code)
    .filter((code) => code.includes('inbox.on('))
}

/** The first block with the store that the page names for SQLite in its text. */
export function putOnSqlite(page: string): string {
  const [code = ''] = listServices(page)
  const [, store = ''] = /`(sqliteStore\('app\.db', .*?\))`/.exec(readPage(page).text) ?? []
  const moved = code.replace(/postgresStore\(\{ pool, tx: .*? \}\),/, `${store},`)
  if (store === '' || moved === code) throw new Error(`${page} names no store for SQLite`)
  return `import { sqliteStore } from 'hookonce/sqlite'\n${moved}`
}
