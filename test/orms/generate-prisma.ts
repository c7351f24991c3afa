/**
 * Generates the clients of `prisma/schema.prisma`, here and in an example, and that for SQLite, once for a run.
 *
 * Prisma's command wants its engine for migrations, a binary that it downloads, before it does anything. Generating
 * does not use it; a program in its place keeps the command from looking for it.
 *
 * @module
 */

import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const SCHEMAS = [
  ['.', 'prisma/schema.prisma'],
  ['.', 'prisma/sqlite.prisma'],
  ['../../examples/nextjs-prisma', 'prisma/schema.prisma'],
] as const

export async function setup(): Promise<void> {
  await Promise.all(
    SCHEMAS.map(([folder, schema]) =>
      generatePrisma(new URL(`${folder}/`, import.meta.url), schema),
    ),
  )
}

/** `schema` is where it is from the folder, whose configuration Prisma reads. */
export async function generatePrisma(folder: URL, schema: string): Promise<void> {
  const command = fileURLToPath(new URL('node_modules/prisma/build/index.js', import.meta.url))
  await promisify(execFile)(
    process.execPath,
    [command, 'generate', '--no-hints', '--schema', schema],
    {
      cwd: fileURLToPath(folder),
      env: {
        ...process.env,
        PRISMA_SCHEMA_ENGINE_BINARY: process.execPath,
        PRISMA_HIDE_UPDATE_MESSAGE: '1',
        CHECKPOINT_DISABLE: '1',
      },
    },
  )
}
