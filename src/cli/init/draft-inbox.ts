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
export function draftInbox(project: Project): string {
  const { orm, engine, framework, isTypeScript, isCommonJs } = project
  const isPostgres = engine === 'postgres'
  const binding = orm === undefined ? undefined : BINDINGS[orm]
  const entry = orm === 'drizzle' && !isPostgres ? 'drizzle/sqlite' : (orm ?? '')
  const tx = binding === undefined ? '' : `tx: ${binding}()`
  const isNext = framework === 'nextjs'
  const lines = [
    ...(isPostgres ? ["import pg from 'pg'"] : []),
    "import { createInbox } from 'hookonce'",
    ...(binding === undefined ? [] : [`import { ${binding} } from 'hookonce/${entry}'`]),
    ...(isPostgres ? ["import { postgresStore } from 'hookonce/postgres'"] : []),
    "import { stripe } from 'hookonce/providers'",
    ...(isPostgres ? [] : ["import { sqliteStore } from 'hookonce/sqlite'"]),
    '',
    ...indentIf(isNext, [
      ...(isPostgres
        ? [
            "const pool = new pg.Pool({ connectionString: process.env['DATABASE_URL'], max: 10 })",
            '',
          ]
        : []),
      `${isNext || isCommonJs ? '' : 'export '}const inbox = createInbox({`,
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
    ]),
    ...(isNext
      ? draftGetInbox(isTypeScript)
      : isCommonJs
        ? ['', 'module.exports = { inbox }']
        : []),
    '',
  ]
  return (isCommonJs ? lines.map(asRequire) : lines).join('\n')
}

function indentIf(isIn: boolean, lines: readonly string[]): readonly string[] {
  return isIn
    ? [
        'function makeInbox() {',
        ...lines.map((line) => (line === '' ? '' : `  ${line}`)),
        '  return inbox',
        '}',
      ]
    : lines
}

function draftGetInbox(isTypeScript: boolean): readonly string[] {
  return [
    '',
    '// One for the process: Next.js may load this module more than once, and loads it to build, where no secret is set.',
    `const kept = globalThis${isTypeScript ? ' as { hookonce?: ReturnType<typeof makeInbox> }' : ''}`,
    '',
    'export function getInbox() {',
    '  kept.hookonce ??= makeInbox()',
    '  return kept.hookonce',
    '}',
  ]
}

/** A line of a module as one of a CommonJS module, which cannot wait at its top either. */
function asRequire(line: string): string {
  return line.replace(/^import (.+) from ('.+')$/, 'const $1 = require($2)').replace(/^await /, '')
}

/** What starts it and mounts it, to be copied. */
export function draftMount({
  framework,
  isCommonJs,
  isTypeScript,
  codeFolder,
}: Project): readonly string[] {
  const lines =
    framework === 'nextjs'
      ? mountInNext(codeFolder === '.' ? '' : `${codeFolder}/`, isTypeScript)
      : mountLines(framework)
  return isCommonJs ? lines.map(asRequire) : lines
}

function mountLines(framework: Exclude<Framework, 'nextjs'> | undefined): readonly string[] {
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
    case undefined:
      return [
        "import { createReceiver } from 'hookonce/node'",
        ...start,
        'await createReceiver(inbox).listen({ port: 4400 })',
      ]
  }
}

/** Next.js has no place of its own for what runs beside requests but `instrumentation`, and finds files without their endings. */
function mountInNext(folder: string, isTypeScript: boolean): readonly string[] {
  const [ending, request] = isTypeScript ? ['ts', 'request: Request'] : ['js', 'request']
  return [
    `// ${folder}app/webhooks/stripe/route.${ending}`,
    "import { getInbox } from '../../../inbox'",
    "export const runtime = 'nodejs'",
    `export const POST = async (${request}) => getInbox().fetch('stripe')(request)`,
    '',
    `// ${folder}instrumentation.${ending}`,
    'export async function register() {',
    "  if (process.env['NEXT_RUNTIME'] !== 'nodejs') return",
    "  const { getInbox } = await import('./inbox')",
    '  await getInbox().start()',
    '}',
  ]
}

/** What a gateway begins with, where there is no service in TypeScript. */
export function draftConfig(): string {
  const config = {
    store: 'sqlite:.hookonce/hookonce.db',
    sources: {
      stripe: { provider: 'stripe', secrets: ['env:STRIPE_WEBHOOK_SECRET'], forward: ['app'] },
    },
    destinations: {
      app: {
        url: 'http://127.0.0.1:3000/webhooks',
        allowPrivate: true,
        secrets: ['env:APP_WEBHOOK_SECRET'],
      },
    },
  }
  return `${JSON.stringify(config, undefined, 2)}\n`
}
