/**
 * What a folder holds already, by its `package.json` and its lock files.
 *
 * @module
 */

import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { HookonceError } from '../../errors.ts'

export type Framework = 'express' | 'fastify' | 'hono' | 'nestjs' | 'nextjs'
export type PackageManager = 'npm' | 'pnpm' | 'yarn' | 'bun'

/** A library that handlers write through, and where its guide is. */
export type Orm =
  'drizzle' | 'kysely' | 'knex' | 'prisma' | 'typeorm' | 'sequelize' | 'mikro-orm' | 'postgres-js'

export interface Project {
  readonly framework: Framework | undefined
  readonly orm: Orm | undefined
  readonly engine: 'postgres' | 'sqlite'
  readonly packageManager: PackageManager
  readonly isTypeScript: boolean
  /** Whether a `.js` file is read as a CommonJS module: `npm init` says so of a new project. */
  readonly isCommonJs: boolean
  /** Where code is: `src`, or the folder itself. */
  readonly codeFolder: string
  readonly hasHookonce: boolean
}

/** The first that is there counts: NestJS brings Express along, and some ORMs bring Knex. */
const FRAMEWORKS: readonly (readonly [string, Framework])[] = [
  ['@nestjs/core', 'nestjs'],
  ['next', 'nextjs'],
  ['fastify', 'fastify'],
  ['hono', 'hono'],
  ['express', 'express'],
]
const ORMS: readonly (readonly [string, Orm])[] = [
  ['drizzle-orm', 'drizzle'],
  ['@prisma/client', 'prisma'],
  ['typeorm', 'typeorm'],
  ['sequelize', 'sequelize'],
  ['@mikro-orm/core', 'mikro-orm'],
  ['kysely', 'kysely'],
  ['knex', 'knex'],
  ['postgres', 'postgres-js'],
]
const LOCK_FILES: readonly (readonly [string, PackageManager])[] = [
  ['pnpm-lock.yaml', 'pnpm'],
  ['yarn.lock', 'yarn'],
  ['bun.lock', 'bun'],
  ['bun.lockb', 'bun'],
  ['package-lock.json', 'npm'],
]
const SQLITE_DRIVERS = ['better-sqlite3', 'libsql', '@libsql/client', 'sqlite3']

interface Manifest {
  readonly type?: unknown
  readonly packageManager?: unknown
  readonly dependencies?: Readonly<Record<string, string>>
  readonly devDependencies?: Readonly<Record<string, string>>
}

/**
 * `undefined` where there is no `package.json`.
 *
 * @throws HookonceError CONFIG_INVALID for one that is no JSON
 */
export function detectProject(folder: string): Project | undefined {
  const has = (name: string): boolean => existsSync(path.join(folder, name))
  if (!has('package.json')) return undefined
  const manifest = readManifest(path.join(folder, 'package.json'))
  const packages = new Set(Object.keys({ ...manifest.dependencies, ...manifest.devDependencies }))
  const find = <Name>(known: readonly (readonly [string, Name])[]): Name | undefined =>
    known.find(([name]) => packages.has(name))?.[1]
  const framework = find(FRAMEWORKS)
  const isTypeScript = has('tsconfig.json') || packages.has('typescript')
  const usesSqlite = SQLITE_DRIVERS.some((name) => packages.has(name))
  const usesPostgres = packages.has('pg') || packages.has('postgres')
  return {
    framework,
    orm: find(ORMS),
    engine: usesSqlite && !usesPostgres ? 'sqlite' : 'postgres',
    packageManager: readManager(manifest) ?? LOCK_FILES.find(([name]) => has(name))?.[1] ?? 'npm',
    isTypeScript,
    // What Next.js runs is built, from `import` in either kind.
    isCommonJs: !isTypeScript && manifest.type !== 'module' && framework !== 'nextjs',
    codeFolder: has('src') ? 'src' : '.',
    hasHookonce: packages.has('hookonce'),
  }
}

function readManifest(file: string): Manifest {
  try {
    return (JSON.parse(readFileSync(file, 'utf8')) ?? {}) as Manifest
  } catch {
    throw new HookonceError('CONFIG_INVALID', `${file} is not JSON, so that nothing was written.`)
  }
}

function readManager({ packageManager }: Manifest): PackageManager | undefined {
  const name = typeof packageManager === 'string' ? packageManager.split('@')[0] : undefined
  return LOCK_FILES.find(([, manager]) => manager === name)?.[1]
}
