import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import ts from 'typescript'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { ROOT } from '../docs/markdown.ts'

/** The types of these are in entries of their own. */
const PEERS = ['stripe', '@octokit/openapi-webhooks-types', 'kysely']

/** What a user without any of them writes. */
const WITHOUT_PEERS = `
import { createInbox } from 'hookonce'
import type { EventsByType } from 'hookonce'
import { asPgClient, postgresStore } from 'hookonce/postgres'
import { github, hmac, stripe } from 'hookonce/providers'
import { mikroOrmTx } from 'hookonce/mikro-orm'
import { sequelizeTx } from 'hookonce/sequelize'
import { sqliteStore } from 'hookonce/sqlite'
import { sign } from 'hookonce/testing'
import { typeormTx } from 'hookonce/typeorm'

type Mine = EventsByType<{ type: 'a'; n: number } | { type: 'b'; s: string }>
const secrets = ['a-secret-of-more-than-16-bytes']
const inbox = createInbox({
  store: sqliteStore('never-opened.db'),
  sources: { stripe: stripe({ secrets }), github: github({ secrets }), mine: stripe<Mine>({ secrets }) },
})
inbox.on('stripe', 'invoice.paid', (event) => void (event.payload.data.object['amount_paid']))
inbox.on('mine', 'a', (event) => void (event.payload.n satisfies number))
// @ts-expect-error there is no such member in events of the type b
inbox.on('mine', 'b', (event) => void event.payload.n)
export const used = [hmac, sign, asPgClient, postgresStore, mikroOrmTx, sequelizeTx, typeormTx]
`

/** What a user with all of them writes. */
const WITH_PEERS = `
import type Stripe from 'stripe'
import { createInbox } from 'hookonce'
import { github, stripe } from 'hookonce/providers'
import { kyselyTx } from 'hookonce/kysely'
import { sqliteStore } from 'hookonce/sqlite'
import type { GithubEventMap } from 'hookonce/types/github'
import type { StripeEventMap } from 'hookonce/types/stripe'

const secrets = ['a-secret-of-more-than-16-bytes']
const inbox = createInbox({
  store: sqliteStore('never-opened.db', { tx: kyselyTx<{ pushes: { ref: string } }>() }),
  sources: {
    stripe: stripe<StripeEventMap>({ secrets }),
    github: github<GithubEventMap>({ secrets }),
  },
})
inbox.on('stripe', 'invoice.paid', ({ payload }) => {
  payload satisfies Stripe.InvoicePaidEvent
  payload.data.object.amount_paid satisfies number
  // @ts-expect-error an invoice has no such member
  void payload.data.object.amount_payed
})
inbox.on('stripe', 'customer.subscription.*', ({ payload }) => {
  payload.data.object satisfies Stripe.Subscription
})
inbox.on('github', 'pull_request', ({ payload }) => {
  if (payload.action === 'opened') payload.pull_request.title satisfies string
  // @ts-expect-error a pull request is not eaten
  if (payload.action === 'eaten') return
})
inbox.on('github', 'push', async ({ payload }, { tx, sql }) => {
  await tx.insertInto('pushes').values({ ref: payload.ref satisfies string }).execute()
  // @ts-expect-error there is no such column
  await tx.insertInto('pushes').values({ branch: payload.ref }).execute()
  sql.write('select 1')
})
// @ts-expect-error there is no such event
inbox.on('github', 'pull-request', () => undefined)
`

let folder: string

/** It is the processor's time that this takes, and others want it too. */
const COMPILING_MS = 900_000

/** The package as npm has installed it: its manifest and its declarations, and no source. */
beforeAll(() => {
  folder = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'hookonce-types-')))
  fs.mkdirSync(path.join(folder, 'node_modules'))
  fs.symlinkSync(inject('packed').installed, path.join(folder, 'node_modules/hookonce'))
  fs.writeFileSync(path.join(folder, 'package.json'), '{"type":"module"}')
  fs.writeFileSync(path.join(folder, 'app.ts'), WITHOUT_PEERS)
  for (const name of ['@types/node', 'undici-types']) install(name)
})

afterAll(() => fs.rmSync(folder, { recursive: true, force: true }))

describe('a project without the optional packages', { timeout: COMPILING_MS }, () => {
  test.each([true, false])('compiles, with skipLibCheck %s', (skipLibCheck) => {
    expect(compile('app.ts', { skipLibCheck })).toEqual([])
  })

  test('is told what is missing by the entry that needs it, and by no other', () => {
    fs.writeFileSync(path.join(folder, 'typed.ts'), WITH_PEERS)

    const said = compile('typed.ts', { skipLibCheck: false }).join('\n')

    expect(said).toContain("types/stripe.d.ts: Cannot find module 'stripe'")
    expect(said).toContain("bindings/kysely.d.ts: Cannot find module 'kysely'")
  })
})

describe('a project with them', { timeout: COMPILING_MS }, () => {
  beforeAll(() => {
    for (const name of PEERS) install(name)
    fs.writeFileSync(path.join(folder, 'typed.ts'), WITH_PEERS)
  })

  test('has the payloads of the packages in its handlers', () => {
    expect(compile('typed.ts', { skipLibCheck: true })).toEqual([])
  })

  test('compiles without skipLibCheck, as far as our declarations go', () => {
    const ours = compile('typed.ts', { skipLibCheck: false }).filter((line) =>
      /^(node_modules\/hookonce\/|typed\.ts)/.test(line),
    )

    expect(ours).toEqual([])
  })
})

function install(name: string): void {
  const link = path.join(folder, 'node_modules', name)
  fs.mkdirSync(path.dirname(link), { recursive: true })
  fs.symlinkSync(path.join(ROOT, 'node_modules', name), link)
}

/** What is installed does not change between the programs, and the packages have megabytes of types. */
const parsed = new Map<string, ts.SourceFile | undefined>()

/** What the compiler says, as `file: message`, in a project with usual options. */
function compile(file: string, { skipLibCheck }: { skipLibCheck: boolean }): readonly string[] {
  const options: ts.CompilerOptions = {
    target: ts.ScriptTarget.ES2022,
    lib: ['lib.es2023.d.ts', 'lib.esnext.disposable.d.ts', 'lib.dom.d.ts'],
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    strict: true,
    noEmit: true,
    skipLibCheck,
    preserveSymlinks: true,
    typeRoots: [path.join(folder, 'node_modules/@types')],
    types: ['node'],
  }
  const host = ts.createCompilerHost(options)
  const read = host.getSourceFile.bind(host)
  host.getSourceFile = (name, language) => {
    if (!name.includes('/node_modules/')) return read(name, language)
    if (!parsed.has(name)) parsed.set(name, read(name, language))
    return parsed.get(name)
  }
  const program = ts.createProgram([path.join(folder, file)], options, host)
  return ts.getPreEmitDiagnostics(program).map(({ file: at, messageText }) => {
    const name = at === undefined ? '' : path.relative(folder, at.fileName)
    return `${name}: ${ts.flattenDiagnosticMessageText(messageText, ' ')}`
  })
}
