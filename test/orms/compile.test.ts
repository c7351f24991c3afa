import { spawnSync } from 'node:child_process'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { assembleSnippets, compileSnippets } from '../docs/compile-blocks.ts'
import { listBlocks, listPages, ROOT } from '../docs/markdown.ts'

/** It is the processor's time that this takes, and others want it too. */
const COMPILING = { timeout: 900_000 }

describe('what needs the types of these libraries', () => {
  test('compiles: the tests of this folder, and what handlers get in them', COMPILING, () => {
    const tsc = path.join(ROOT, 'node_modules/typescript/bin/tsc')

    const { stdout } = spawnSync(process.execPath, [tsc, '-p', 'test/orms/tsconfig.json'], {
      cwd: ROOT,
      encoding: 'utf8',
    })

    expect(stdout).toBe('')
  })

  test('compiles: every block of the documentation that is marked orms', COMPILING, () => {
    const snippets = listPages()
      .flatMap((page) => assembleSnippets(listBlocks(page)))
      .filter(({ marks }) => marks.includes('orms'))

    expect(new Set(snippets.map(({ page }) => page))).toEqual(
      new Set([
        'docs/guides/mikro-orm.md',
        'docs/guides/postgres-js.md',
        'docs/guides/prisma.md',
        'docs/guides/sequelize.md',
        'docs/guides/typeorm.md',
      ]),
    )
    expect(compileSnippets(snippets, 'test/orms')).toEqual([])
  })
})
