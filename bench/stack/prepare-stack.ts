/**
 * Makes the libraries of W2-stack ready: those that `npm run test:orms` installs, and Prisma's client.
 *
 * @module
 */

import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'esbuild'
import { generatePrisma } from '../../test/orms/generate-prisma.ts'

const BENCH = join(import.meta.dirname, '..')
const ORMS = join(BENCH, '..', 'test', 'orms')
const GENERATED = join(BENCH, 'node_modules', '.stack', 'prisma', 'client.ts')

export async function prepareStack(): Promise<void> {
  if (!existsSync(join(ORMS, 'node_modules', 'typeorm'))) {
    console.log('Installing the database libraries (npm ci in test/orms/)')
    const { status } = spawnSync('npm', ['ci'], { cwd: ORMS, stdio: 'inherit' })
    if (status !== 0) process.exit(status ?? 1)
  }
  await generatePrisma(
    new URL('../../test/orms/', import.meta.url),
    '../../bench/stack/schema.prisma',
  )
  // Prisma generates TypeScript. What is outside of it is found from where the libraries are.
  await build({
    entryPoints: [GENERATED],
    outfile: join(ORMS, 'node_modules', '.bench', 'prisma.mjs'),
    bundle: true,
    platform: 'node',
    format: 'esm',
    packages: 'external',
    logLevel: 'error',
  })
}
