/** The bindings that have a library of their own to load, put together by bundlers with that library. */

import { build as buildWithEsbuild } from 'esbuild'
import type { BuildOptions } from 'esbuild'
import { expect, onTestFinished, test } from 'vitest'
import { build as buildWithVite } from 'vite'
import type { InlineConfig } from 'vite'
import {
  LIBRARY_PACKAGES,
  LIBRARY_SERVICE,
  LIBRARY_SERVICE_SAYS,
  runLibraryService,
} from '../support/bundled-libraries.ts'
import { createEmptyPostgresDatabase } from '../support/postgres/open-postgres.ts'
import { listenOnTcp } from '../support/postgres/listen-on-tcp.ts'
import { createUserProject } from '../support/user-project.ts'

const open = () => createUserProject({ 'service.js': LIBRARY_SERVICE }, LIBRARY_PACKAGES)

async function run(folder: string, file: string): Promise<string> {
  const { url, close } = await listenOnTcp(await createEmptyPostgresDatabase())
  onTestFinished(close)
  return runLibraryService(folder, file, url)
}

const LIBRARIES = LIBRARY_PACKAGES.filter((name) => name !== 'hookonce')
/** Drivers that Knex names and a user has not installed. */
const DRIVERS = [
  'better-sqlite3',
  'mariadb',
  'mariadb/callback',
  'mysql',
  'mysql2',
  'oracledb',
  'pg-query-stream',
  'sqlite3',
  'tedious',
]
const external = [...DRIVERS, 'pg-native']
/** Knex and pg are CommonJS, and a module has no \`require\` for the parts of Node that they use. */
const REQUIRE = `import { createRequire as from } from 'node:module'; const require = from(import.meta.url)`

test.each<[string, BuildOptions]>([
  ['as a module, with the libraries left outside', { format: 'esm', external: LIBRARIES }],
  ['as a module', { format: 'esm', external, banner: { js: REQUIRE } }],
  ['as CommonJS, with the libraries left outside', { format: 'cjs', external: LIBRARIES }],
  ['as CommonJS', { format: 'cjs', external }],
])('esbuild puts a service with its libraries into one file %s', async (_how, options) => {
  const { folder } = open()
  const outfile = options.format === 'cjs' ? 'out/service.cjs' : 'out/service.mjs'

  await buildWithEsbuild({
    absWorkingDir: folder,
    entryPoints: ['service.js'],
    bundle: true,
    platform: 'node',
    logLevel: 'silent',
    outfile,
    ...options,
  })

  expect(await run(folder, outfile)).toBe(LIBRARY_SERVICE_SAYS)
})

test.each<[string, InlineConfig]>([
  ['with the packages left outside, as Vite does by itself', {}],
  ['with hookonce taken in', { ssr: { noExternal: ['hookonce'] } }],
  [
    'with everything taken in',
    { ssr: { noExternal: true }, build: { rolldownOptions: { external } } },
  ],
])('Vite builds a service with its libraries for the server, %s', async (_how, config) => {
  const { folder } = open()

  await buildWithVite({
    root: folder,
    configFile: false,
    logLevel: 'silent',
    ...config,
    build: { ssr: 'service.js', outDir: 'out', ...config.build },
  })

  expect(await run(folder, 'out/service.js')).toBe(LIBRARY_SERVICE_SAYS)
})
