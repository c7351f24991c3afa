/**
 * The few lines that a project needs: a file with an inbox, and what mounts it.
 *
 * @module
 */

import type { Framework, Orm, Project } from './detect-project.ts'

/** Those whose binding needs nothing of the user's. The others take an instance or a class, as their guides show. */
const BINDINGS: Readonly<Partial<Record<Orm, string>>> = {
  drizzle: 'drizzleTx',
  kysely: 'kyselyTx',
  knex: 'knexTx',
}

/** The file with the inbox. */
export function draftInbox({ orm, engine }: Project): string {
  const isPostgres = engine === 'postgres'
  const binding = orm === undefined ? undefined : BINDINGS[orm]
  const entry = orm === 'drizzle' && !isPostgres ? 'drizzle/sqlite' : (orm ?? '')
  const tx = binding === undefined ? '' : `tx: ${binding}()`
  return [
    ...(isPostgres ? ["import pg from 'pg'"] : []),
    "import { createInbox } from 'hookonce'",
    ...(binding === undefined ? [] : [`import { ${binding} } from 'hookonce/${entry}'`]),
    ...(isPostgres ? ["import { postgresStore } from 'hookonce/postgres'"] : []),
    "import { stripe } from 'hookonce/providers'",
    ...(isPostgres ? [] : ["import { sqliteStore } from 'hookonce/sqlite'"]),
    '',
    ...(isPostgres
      ? ["const pool = new pg.Pool({ connectionString: process.env['DATABASE_URL'], max: 8 })", '']
      : []),
    'export const inbox = createInbox({',
    isPostgres
      ? `  store: postgresStore({ pool${tx === '' ? '' : `, ${tx}`} }),`
      : `  store: sqliteStore('app.db'${tx === '' ? '' : `, { ${tx} }`}),`,
    "  sources: { stripe: stripe({ secrets: [process.env['STRIPE_WEBHOOK_SECRET'] ?? ''] }) },",
    '  worker: { concurrency: 4 },',
    '})',
    '',
    '// What it writes through the `tx` of its second argument commits together with the fact that the event is done.',
    "inbox.on('stripe', 'invoice.paid', async (event) => {",
    '  console.log(event.type, event.key)',
    '})',
    '',
  ].join('\n')
}

/** What starts it and mounts it, to be copied. */
export function draftMount(framework: Framework | undefined): readonly string[] {
  const start = ["import { inbox } from './inbox.js'", 'await inbox.start()']
  switch (framework) {
    case 'express':
      return [
        "import { expressHandler } from 'hookonce/express'",
        ...start,
        '// Before express.json(): the signature is that of the bytes as they came.',
        "app.post('/webhooks/stripe', expressHandler(inbox, 'stripe'))",
      ]
    case 'fastify':
      return [
        "import { fastifyPlugin } from 'hookonce/fastify'",
        ...start,
        "await app.register(fastifyPlugin(inbox, 'stripe'), { prefix: '/webhooks/stripe' })",
      ]
    case 'hono':
      return [
        "import { honoHandler } from 'hookonce/hono'",
        ...start,
        "app.post('/webhooks/stripe', honoHandler(inbox, 'stripe'))",
      ]
    case 'nestjs':
      return [
        "import { nestHandler } from 'hookonce/nestjs'",
        "import { inbox } from './inbox.js'",
        '// NestFactory.create(AppModule, { rawBody: true }), await inbox.start(), and in configure(consumer) of a module:',
        "consumer.apply(nestHandler(inbox, 'stripe')).forRoutes('webhooks/stripe')",
      ]
    case 'nextjs':
      return [
        '// app/webhooks/stripe/route.ts',
        "import { inbox } from '../../../inbox.js'",
        "export const POST = inbox.fetch('stripe')",
      ]
    case undefined:
      return [
        "import { createReceiver } from 'hookonce/node'",
        ...start,
        'await createReceiver(inbox).listen({ port: 4400 })',
      ]
  }
}

/** What a gateway begins with, where there is no service in TypeScript. */
export function draftConfig(): string {
  const config = {
    store: 'sqlite:.hookonce/hookonce.db',
    sources: {
      stripe: { provider: 'stripe', secrets: ['env:STRIPE_WEBHOOK_SECRET'], forward: ['app'] },
    },
    destinations: { app: { url: 'http://127.0.0.1:3000/webhooks', allowPrivate: true } },
  }
  return `${JSON.stringify(config, undefined, 2)}\n`
}
