import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { createUserProject } from '../support/user-project.ts'

/** Types and an import: neither is anything that Node 20 runs by itself. */
const IN_TYPESCRIPT = `
  import { defineConfig } from 'hookonce/config'
  import type { SourceConfig } from 'hookonce/config'

  const stripe: SourceConfig = { provider: 'stripe', secrets: ['whsec_0123456789abcdef'] }
  export default defineConfig({ receive: { port: 4477 as number }, sources: { stripe } })
`

describe('the command of the package', () => {
  test.each([
    ['hookonce.config.ts', IN_TYPESCRIPT],
    ['hookonce.config.js', 'export default { receive: { port: 4477 } }'],
  ])('reads %s', (file, text) => {
    const { folder } = createUserProject({ [file]: text })

    const printed = runCommand(folder, ['config', 'print', '--json'])

    expect(JSON.parse(printed)).toContainEqual({ path: 'receive.port', value: 4477, origin: file })
  })
})

function runCommand(folder: string, args: readonly string[]): string {
  const main = join(folder, 'node_modules/hookonce/dist/cli/main.js')
  return execFileSync(process.execPath, [main, ...args], { cwd: folder, encoding: 'utf8' })
}
