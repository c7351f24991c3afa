import { execFile } from 'node:child_process'
import path from 'node:path'
import { promisify } from 'node:util'
import { build } from 'esbuild'
import type { BuildOptions } from 'esbuild'
import { describe, expect, test } from 'vitest'
import { findNewerNode } from '../support/newer-node.ts'
import { createUserProject } from '../support/user-project.ts'

/** Takes one delivery in, runs its handler, and says with which binding. */
const SERVICE = `
import { createInbox } from 'hookonce'
import { stripe } from 'hookonce/providers'
import { sqliteStore } from 'hookonce/sqlite'
import { sign } from 'hookonce/testing'

const secret = 'whsec_test_secret_of_some_length'

async function main() {
  const inbox = createInbox({
    store: sqliteStore(process.env.FILE, { driver: process.env.DRIVER }),
    sources: { stripe: stripe({ secrets: [secret] }) },
  })
  inbox.on('stripe', 'invoice.paid', async (event, { tx }) => {
    await tx.query('create table paid (key text)')
    await tx.query('insert into paid values ($1)', [event.key])
  })
  const done = new Promise((resolve) => inbox.events.on('event.done', resolve))
  await inbox.start()
  const delivery = sign('stripe', { key: 'evt_1', type: 'invoice.paid' }, { secret })
  const { status } = await inbox.receive('stripe', delivery)
  const { key } = await done
  await inbox.stop()
  console.log(status + ' ' + key + ' done')
}

main().catch((error) => {
  console.error(error)
  process.exitCode = 1
})
`

const newerNode = await findNewerNode()

describe('a service that esbuild has put into one file', () => {
  test.each<[string, BuildOptions]>([
    ['as a module', { format: 'esm' }],
    ['as a module, with the binding left outside', { format: 'esm', external: ['libsql'] }],
    ['as a module, made small', { format: 'esm', minify: true }],
    ['as CommonJS', { format: 'cjs' }],
    ['as CommonJS, with the binding left outside', { format: 'cjs', external: ['libsql'] }],
  ])('%s finds its SQLite binding', async (_how, options) => {
    const { folder } = createUserProject({ 'service.js': SERVICE })
    const outfile = options.format === 'cjs' ? 'out/service.cjs' : 'out/service.mjs'

    const { warnings } = await build({
      absWorkingDir: folder,
      entryPoints: ['service.js'],
      bundle: true,
      platform: 'node',
      logLevel: 'silent',
      outfile,
      ...options,
    })

    expect(warnings).toEqual([])
    expect(await run(process.execPath, folder, outfile, 'libsql')).toBe('200 evt_1 done\n')
    if ('path' in newerNode) {
      expect(await run(newerNode.path, folder, outfile, 'node:sqlite')).toBe('200 evt_1 done\n')
    }
  })

  // A name that a bundler cannot see it can neither take in nor leave outside on purpose.
  test('shows both bindings to esbuild', async () => {
    const { folder } = createUserProject({ 'service.js': SERVICE })

    const { metafile } = await build({
      absWorkingDir: folder,
      entryPoints: ['service.js'],
      bundle: true,
      platform: 'node',
      format: 'esm',
      external: ['libsql'],
      metafile: true,
      write: false,
    })

    const imports = Object.values(metafile.outputs).flatMap((output) => output.imports)
    expect(imports).toContainEqual({ path: 'node:sqlite', kind: 'dynamic-import', external: true })
    expect(imports).toContainEqual({ path: 'libsql', kind: 'dynamic-import', external: true })
  })

  test('needs no binding at all where Node has its own', async ({ skip }) => {
    if ('missing' in newerNode) return skip(newerNode.missing)
    const { folder } = createUserProject({ 'service.js': SERVICE })
    const outfile = 'out/service.mjs'
    const options = { bundle: true, platform: 'node', format: 'esm', logLevel: 'silent' } as const
    const alias = { libsql: './missing.js' }
    await build({ absWorkingDir: folder, entryPoints: ['service.js'], outfile, alias, ...options })

    expect(await run(newerNode.path, folder, outfile, 'auto')).toBe('200 evt_1 done\n')
  })
})

/** What it prints. Each has a database of its own. */
async function run(node: string, folder: string, file: string, driver: string): Promise<string> {
  const database = path.join(folder, `${driver.replace(':', '-')}.db`)
  const { stdout } = await promisify(execFile)(node, [file], {
    cwd: folder,
    env: { ...process.env, FILE: database, DRIVER: driver, NODE_NO_WARNINGS: '1' },
    timeout: 110_000,
  })
  return stdout
}
