/**
 * Packs the built package and checks what a user would get: the files, the types, nothing that runs
 * at install, that every entry can be imported from an empty project without a network, and that the command works there.
 *
 * Run it by `npm run check:package`, which builds first.
 *
 * @module
 */

import { execFileSync, spawnSync } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { checkCommand } from './check-command.ts'
import { checkDev } from './check-dev.ts'
import { CONSUMERS, consumerFiles, libraryFiles, SAYS } from './consumers.ts'
import type { Consumer } from './consumers.ts'
import { findStaleWeights, weighParts } from './weigh-parts.ts'

const ROOT = fileURLToPath(new URL('..', import.meta.url))

/**
 * What the package may weigh. The packed size is what every user downloads, the unpacked one what
 * every user keeps. Raise it in the change that needs it, with the reason in that change.
 *
 * docs/sizing.md says how many bytes each part has. Of the command 1,527,000 bytes are what reads a config in TypeScript,
 * which Node 20 cannot, 321,000 the SDK of MCP, 352,000 what the gateway sends with; of the pages 359,000 are the reference of the API, 146,000 the schemas, 185,000 the references of
 * the command and of the admin API, 23,000 pictures of terminals; of the kit 270,000 the suite for authors of stores,
 * which is the tests of our own stores and cannot be had without them. 1,650,000 bytes are the code that a `require` finds
 * in jest, whose module system cannot load a module; 100,000 its types. A little more is the room for what comes.
 */
const PACKED_BYTES_MAX = 3_000_000
const UNPACKED_BYTES_MAX = 11_600_000

/** npm runs these on a user's machine when the package is installed, or on ours before it is published. */
const LIFECYCLE_SCRIPTS = [
  'preinstall',
  'install',
  'postinstall',
  'prepublish',
  'preprepare',
  'prepare',
  'postprepare',
  'prepack',
  'postpack',
]

const OF_RUNNERS = new Set(['vitest', 'jest', 'jest-globals'].map((name) => `./testing/${name}`))

interface Packed {
  readonly filename: string
  readonly size: number
  readonly unpackedSize: number
  readonly files: readonly { readonly path: string; readonly size?: number }[]
}

type ExportTarget = string | { readonly [condition: string]: ExportTarget }

interface Manifest {
  readonly name: string
  readonly version: string
  readonly exports: Readonly<Record<string, ExportTarget>>
  readonly scripts?: Readonly<Record<string, string>>
  readonly dependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>
}

/** What is wrong with the manifest and the list of packed files; nothing when all is well. */
export function checkManifest(manifest: Manifest, packed: Packed): readonly string[] {
  const files = new Set(packed.files.map((file) => `./${file.path}`))
  const missing = Object.entries(manifest.exports).flatMap(([entry, target]) =>
    listTargets(target)
      .filter((file) => !files.has(file))
      .map((file) => `exports "${entry}" names ${file}, which is not in the package`),
  )
  const scripts = LIFECYCLE_SCRIPTS.filter((name) => manifest.scripts?.[name] !== undefined)
  const required = Object.keys(manifest.peerDependencies ?? {}).filter(
    (name) => manifest.peerDependenciesMeta?.[name]?.optional !== true,
  )
  const strays = [...files].filter(
    (file) =>
      !/^\.\/(dist\/|docs\/.*\.(json|md|sql|svg)$|[A-Z]+(\.md)?$|package\.json$)/.test(file),
  )
  return [
    ...missing,
    ...scripts.map((name) => `the script "${name}" would run at install or release`),
    ...Object.keys(manifest.dependencies ?? {}).map((name) => `"${name}" is a run-time dependency`),
    // npm installs these for every user, also for a user who never needs them: 19 MB in the case of libsql.
    ...Object.keys(manifest.optionalDependencies ?? {}).map(
      (name) => `"${name}" would be installed by every user, optional or not`,
    ),
    ...required.map((name) => `the peer "${name}" is not optional`),
    // npm refuses to install beside a version that is outside of a range, used or not.
    ...Object.entries(manifest.peerDependencies ?? {}).flatMap(([name, range]) =>
      range === '*'
        ? []
        : [`the peer "${name}" has a range, which a user who has another cannot install`],
    ),
    ...strays.map((file) => `${file} has no business in the package`),
    ...(files.has('./LICENSE') ? [] : ['LICENSE is not in the package']),
    ...([...files].some((file) => file.startsWith('./docs/'))
      ? []
      : ['docs is not in the package']),
    ...overweight('packed', packed.size, PACKED_BYTES_MAX),
    ...overweight('unpacked', packed.unpackedSize, UNPACKED_BYTES_MAX),
  ]
}

function listTargets(target: ExportTarget): readonly string[] {
  return typeof target === 'string' ? [target] : Object.values(target).flatMap(listTargets)
}

function overweight(what: string, bytes: number, bytesMax: number): readonly string[] {
  return bytes <= bytesMax ? [] : [`${what} size ${bytes} is over the budget of ${bytesMax} bytes`]
}

async function main(): Promise<void> {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'hookonce-package-'))
  try {
    const manifest = JSON.parse(
      fs.readFileSync(path.join(ROOT, 'package.json'), 'utf8'),
    ) as Manifest
    const packed = pack(folder)
    const tarball = path.join(folder, packed.filename)
    const weights = weighParts(packed.files)
    for (const [name, bytes] of weights) console.log(`package: ${bytes} bytes: ${name}`)
    const problems = [
      ...checkManifest(manifest, packed),
      ...findStaleWeights(fs.readFileSync(path.join(ROOT, 'docs/sizing.md'), 'utf8'), weights),
      ...run('publint', ['run', tarball, '--strict']),
      ...run('attw', [tarball, '--profile', 'node16', '--no-emoji', '--format', 'ascii']),
      ...importEveryEntry(manifest, tarball, path.join(folder, 'consumer')),
      ...(await checkConsumers(path.join(folder, 'consumer'))),
      ...(await runCommand(manifest, path.join(folder, 'consumer'))),
    ]
    for (const problem of problems) console.error(`package: ${problem}`)
    console.log(
      `package: ${packed.files.length} files, ${packed.size} bytes packed, ${packed.unpackedSize} unpacked, ${problems.length} problems`,
    )
    if (problems.length > 0) process.exitCode = 1
  } finally {
    fs.rmSync(folder, { recursive: true, force: true })
  }
}

function pack(folder: string): Packed {
  const args = ['pack', '--json', '--ignore-scripts', '--pack-destination', folder]
  const output = execFileSync('npm', args, {
    cwd: ROOT,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const [packed] = Object.values(JSON.parse(output) as Record<string, Packed>)
  if (packed === undefined) throw new Error('npm pack said nothing about what it packed')
  return packed
}

function run(tool: string, args: readonly string[]): readonly string[] {
  const bin = path.join(ROOT, 'node_modules', '.bin', tool)
  const { status, stdout, stderr } = spawnSync(bin, args, { cwd: ROOT, encoding: 'utf8' })
  return status === 0 ? [] : [`${tool} is not content:\n${stdout}${stderr}`]
}

/** Installs the tarball into an empty project, offline and without any peer, and imports it all. */
function importEveryEntry(
  manifest: Manifest,
  tarball: string,
  consumer: string,
): readonly string[] {
  fs.mkdirSync(consumer)
  fs.writeFileSync(path.join(consumer, 'package.json'), '{"private":true,"type":"module"}')
  const install = ['install', '--offline', '--no-audit', '--no-fund', tarball]
  const installed = spawnSync('npm', install, { cwd: consumer, encoding: 'utf8' })
  if (installed.status !== 0) return [`it cannot be installed offline:\n${installed.stderr}`]
  return (
    Object.entries(manifest.exports)
      // An entry without code has types alone, and one for a test runner has to be in it: `npm run test:runners`.
      .filter(([, target]) => typeof target === 'object' && 'default' in target)
      .filter(([entry]) => !OF_RUNNERS.has(entry))
      .flatMap(([entry]) => {
        const specifier = path.posix.join(manifest.name, entry)
        const script = `const it = await import('${specifier}'); if (Object.keys(it).length === 0) throw new Error('exports nothing')
          const { createRequire } = await import('node:module')
          if (createRequire(import.meta.url)('${specifier}') !== it) throw new Error('require gives something else')`
        const args = ['--input-type=module', '--eval', script]
        const { status, stderr } = spawnSync(process.execPath, args, {
          cwd: consumer,
          encoding: 'utf8',
        })
        return status === 0 ? [] : [`${specifier} cannot be imported:\n${stderr}`]
      })
  )
}

/** Compiles what a user writes, with each setting of modules, against the package as it is installed, and runs it. */
async function checkConsumers(consumer: string): Promise<readonly string[]> {
  for (const name of ['@types/node', 'undici-types', 'drizzle-orm', 'kysely'])
    link(path.join(consumer, 'node_modules'), name)
  const problems = [...compile(path.join(consumer, 'libraries'), libraryFiles())]
  for (const one of CONSUMERS) {
    const folder = path.join(consumer, one.name)
    const refused = compile(folder, consumerFiles(one))
    problems.push(...(refused.length > 0 ? refused : await runConsumer(folder, one)))
  }
  return problems
}

function compile(folder: string, files: Readonly<Record<string, string>>): readonly string[] {
  fs.mkdirSync(folder)
  for (const [file, text] of Object.entries(files)) fs.writeFileSync(path.join(folder, file), text)
  const tsc = path.join(ROOT, 'node_modules', '.bin', 'tsc')
  const { status, stdout } = spawnSync(tsc, ['-p', folder], { encoding: 'utf8' })
  return status === 0 ? [] : [`${path.basename(folder)} does not compile:\n${stdout}`]
}

async function runConsumer(
  folder: string,
  { name, isBundled }: Consumer,
): Promise<readonly string[]> {
  const file = path.join(folder, isBundled ? 'bundled.mjs' : 'service.js')
  if (isBundled)
    await build({
      absWorkingDir: folder,
      entryPoints: ['service.ts'],
      outfile: file,
      bundle: true,
      platform: 'node',
      format: 'esm',
      external: ['libsql'],
    })
  const { stdout, stderr } = spawnSync(process.execPath, [file], { encoding: 'utf8' })
  return stdout === SAYS ? [] : [`${name} does not run:\n${stdout}${stderr}`]
}

/** First without the binding that a user of SQLite installs where Node has none of its own, then with it. */
async function runCommand({ version }: Manifest, consumer: string): Promise<readonly string[]> {
  const problems = await checkDev(consumer, linkSqlite)
  linkSqlite(path.join(consumer, 'node_modules'))
  return [...problems, ...(await checkCommand(consumer, version))]
}

function linkSqlite(modules: string): void {
  for (const name of ['libsql', '@libsql', '@neon-rs', 'detect-libc']) link(modules, name)
}

function link(modules: string, name: string): void {
  fs.mkdirSync(path.join(modules, path.dirname(name)), { recursive: true })
  fs.symlinkSync(path.join(ROOT, 'node_modules', name), path.join(modules, name))
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main()
