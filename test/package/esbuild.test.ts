import { build } from 'esbuild'
import type { BuildOptions } from 'esbuild'
import { describe, expect, test } from 'vitest'
import { runService, SERVICE, SERVICE_SAYS } from '../support/bundled-service.ts'
import { findNewerNode } from '../support/newer-node.ts'
import { createUserProject } from '../support/user-project.ts'

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
    const project = { folder, file: outfile }
    expect(await runService(process.execPath, { ...project, driver: 'libsql' })).toBe(SERVICE_SAYS)
    if ('path' in newerNode) {
      const driver = 'node:sqlite'
      expect(await runService(newerNode.path, { ...project, driver })).toBe(SERVICE_SAYS)
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

    expect(await runService(newerNode.path, { folder, file: outfile, driver: 'auto' })).toBe(
      SERVICE_SAYS,
    )
  })
})
