/**
 * Generates the client of `prisma/schema.prisma`, once for a run.
 *
 * Prisma's command wants its engine for migrations, a binary that it downloads, before it does anything. Generating
 * does not use it; a program in its place keeps the command from looking for it.
 *
 * @module
 */

import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

export async function setup(): Promise<void> {
  const folder = fileURLToPath(new URL('.', import.meta.url))
  await promisify(execFile)(
    process.execPath,
    ['node_modules/prisma/build/index.js', 'generate', '--no-hints'],
    {
      cwd: folder,
      env: {
        ...process.env,
        PRISMA_SCHEMA_ENGINE_BINARY: process.execPath,
        PRISMA_HIDE_UPDATE_MESSAGE: '1',
        CHECKPOINT_DISABLE: '1',
      },
    },
  )
}
