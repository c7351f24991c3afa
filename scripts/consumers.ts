/**
 * What users write, with each setting of modules that TypeScript has for Node and bundlers.
 *
 * @module
 */

export interface Consumer {
  readonly name: string
  /** As in `tsconfig.json`. */
  readonly module: 'esnext' | 'nodenext' | 'node16'
  readonly moduleResolution: 'bundler' | 'nodenext' | 'node16'
  /** The `type` of the user's own package. */
  readonly type: 'module' | 'commonjs'
  /** Whether a bundler makes one file of it before it is run. */
  readonly isBundled?: true
}

/** Each is compiled, and what the compiler wrote is run. `require` of a module works on Node from 20.19 on. */
export const CONSUMERS: readonly Consumer[] = [
  {
    name: 'bundler',
    module: 'esnext',
    moduleResolution: 'bundler',
    type: 'module',
    isBundled: true,
  },
  { name: 'nodenext-esm', module: 'nodenext', moduleResolution: 'nodenext', type: 'module' },
  { name: 'nodenext-cjs', module: 'nodenext', moduleResolution: 'nodenext', type: 'commonjs' },
  { name: 'node16-esm', module: 'node16', moduleResolution: 'node16', type: 'module' },
  { name: 'node16-cjs', module: 'node16', moduleResolution: 'node16', type: 'commonjs' },
]

const SERVICE = `
import { createInbox, destination, HookonceError, OptionInvalidError } from 'hookonce'
import type { Inbox } from 'hookonce'
import { stripe } from 'hookonce/providers'
import { sqliteStore } from 'hookonce/sqlite'
import { testInbox } from 'hookonce/testing'

export const inbox = createInbox({
  store: sqliteStore('never-opened.db'),
  sources: { stripe: stripe({ secrets: ['a-secret-of-more-than-16-bytes'] }) },
  destinations: [destination('mail', () => undefined)],
})
inbox.on('stripe', 'invoice.paid', async (event, { send }) => {
  await send('mail', { invoice: event.payload.data.object['id'] })
  // @ts-expect-error there is no such destination
  if (event.key === '') await send('nosuch', {})
})
if (typeof testInbox !== 'function') throw new Error('testInbox is missing')

export function optionOf(error: unknown): string | undefined {
  if (!(error instanceof HookonceError)) return undefined
  return error instanceof OptionInvalidError ? error.option : error.code
}
export class OwnError extends HookonceError {}

// What is loaded as a module is the same code, and has the same types.
void import('./beside.mjs').then(({ refuse, stopAll }) => {
  const refused: OptionInvalidError = refuse()
  if (optionOf(refused) !== 'limit') throw new Error('There are two of our classes')
  const stop: (one: Inbox<never, never>) => Promise<void> = stopAll
  void stop
  console.log('well')
})
`

/** A file that is a module, whatever the package is. */
const BESIDE = `
import { OptionInvalidError } from 'hookonce'
import type { Inbox } from 'hookonce'

export function refuse(): OptionInvalidError {
  return new OptionInvalidError('limit', 'a number', 'none')
}
export async function stopAll(inbox: Inbox<never, never>): Promise<void> {
  await inbox.stop()
}
`

/** What a consumer prints who is well. */
export const SAYS = 'well\n'

/** The files of a user's project. */
export function consumerFiles({
  module,
  moduleResolution,
  type,
}: Consumer): Readonly<Record<string, string>> {
  const compilerOptions = {
    module,
    moduleResolution,
    target: 'es2022',
    lib: ['es2023', 'esnext.disposable', 'dom'],
    strict: true,
    types: ['node'],
    skipLibCheck: false,
  }
  return {
    'package.json': JSON.stringify({ private: true, type }),
    'tsconfig.json': JSON.stringify({ compilerOptions, files: ['service.ts', 'beside.mts'] }),
    'service.ts': SERVICE,
    'beside.mts': BESIDE,
  }
}

/**
 * A CommonJS file with a library whose types are other ones for modules: its tables must be those that its `tx` takes.
 * Compiled alone, and not with the types of the library itself, which need packages that are not there.
 */
export function libraryFiles(): Readonly<Record<string, string>> {
  const compilerOptions = {
    module: 'node16',
    moduleResolution: 'node16',
    target: 'es2022',
    lib: ['es2023', 'esnext.disposable', 'dom'],
    strict: true,
    noEmit: true,
    types: ['node'],
    skipLibCheck: true,
  }
  return {
    'package.json': JSON.stringify({ private: true, type: 'commonjs' }),
    'tsconfig.json': JSON.stringify({ compilerOptions, files: ['service.ts'] }),
    'service.ts': LIBRARY_SERVICE,
  }
}

const LIBRARY_SERVICE = `
import { pgTable, text } from 'drizzle-orm/pg-core'
import { CamelCasePlugin } from 'kysely'
import type { Kysely, Transaction } from 'kysely'
import { createInbox } from 'hookonce'
import { drizzleTx } from 'hookonce/drizzle'
import { kyselyTx } from 'hookonce/kysely'
import { postgresStore } from 'hookonce/postgres'
import type { PgPool } from 'hookonce/postgres'
import { hmac } from 'hookonce/providers'

declare const pool: PgPool
const sources = { pings: hmac({ secrets: ['a-secret-of-more-than-16-bytes'] } as never) }
const paid = pgTable('paid', { invoice: text() })

const onDrizzle = createInbox({ store: postgresStore({ pool, tx: drizzleTx({ schema: { paid } }) }), sources })
onDrizzle.on('pings', '*', async ({ key }, { tx }) => {
  await tx.insert(paid).values({ invoice: key })
  const rows: { invoice: string | null }[] = await tx.query.paid.findMany()
  void rows
})

interface Database { paid: { invoice: string } }
async function pay(trx: Transaction<Database>, invoice: string) {
  await trx.insertInto('paid').values({ invoice }).execute()
}
const tx = kyselyTx<Database>({ plugins: [new CamelCasePlugin()] })
const onKysely = createInbox({ store: postgresStore({ pool, tx }), sources })
onKysely.on('pings', '*', async ({ key }, { tx: trx }) => {
  await pay(trx, key)
})
`
