import { join } from 'node:path'
import { expect, test } from 'vitest'
import { findNewerNode, hasNodeSqlite, run } from '../../support/newer-node.ts'

const ROOT = join(import.meta.dirname, '../../..')

// `test/store/contract/sqlite.test.ts` runs on node:sqlite by itself where this Node has it.
test.skipIf(hasNodeSqlite(process.versions.node))(
  'the contract holds on node:sqlite, on a Node that has it',
  { timeout: 300_000 },
  async ({ skip }) => {
    const node = await findNewerNode()
    if ('missing' in node) {
      if (process.env['CI'] === 'true') throw new Error(node.missing)
      console.warn(`\nNOT TESTED: the node:sqlite driver. ${node.missing}\n`)
      return skip(node.missing)
    }

    const vitest = join(ROOT, 'node_modules/vitest/vitest.mjs')
    const config = join(ROOT, 'test/store/contract/node-sqlite.config.ts')
    const { code, output } = await run(
      node.path,
      [vitest, 'run', '--root', ROOT, '--config', config],
      {
        NO_COLOR: '1',
      },
    )

    expect(output).toMatch(/Tests {2}\d+ passed/)
    expect({ code, failures: output.match(/FAIL .*/g) }).toEqual({ code: 0, failures: null })
    expect(output).toContain('on node:sqlite')
  },
)
