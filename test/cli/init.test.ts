import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { assembleSnippets, compileSnippets } from '../docs/compile-blocks.ts'
import { listBlocks } from '../docs/markdown.ts'
import { aFolder, runCommand } from '../support/run-command.ts'

const EXPRESS = {
  packageManager: 'pnpm@10.0.0',
  dependencies: { express: '5', 'drizzle-orm': '0.45', pg: '8' },
  devDependencies: { typescript: '5' },
}

describe('hookonce init', () => {
  test('in an empty folder writes the config of a gateway, which can be used', async () => {
    const folder = aFolder()

    const { code, output } = await runCommand(['init'], { folder })
    const environment = {
      STRIPE_WEBHOOK_SECRET: 'whsec_0123456789abcdef',
      APP_WEBHOOK_SECRET: 'a secret of the service behind it',
    }
    const sources = await runCommand(['sources'], { folder, environment })

    expect(code).toBe(0)
    expect(output).toContain('Wrote hookonce.config.json')
    expect(output).toContain('export APP_WEBHOOK_SECRET=')
    expect(output).toContain('npx hookonce start')
    expect(readdirSync(folder)).toEqual(['hookonce.config.json'])
    expect(sources.output).toMatch(/^stripe +stripe +\/in\/stripe +app/m)
  })

  test('in a service writes an inbox for its framework, ORM and package manager', async () => {
    const folder = aProject(EXPRESS)

    const { code, output } = await runCommand(['init'], { folder })

    expect(code).toBe(0)
    expect(output).toContain('Wrote src/inbox.ts for express, drizzle, PostgreSQL.')
    expect(output).toContain('pnpm add hookonce pg')
    expect(output).toContain("app.post('/webhooks/stripe', expressHandler(inbox, 'stripe'))")
    const written = readFileSync(join(folder, 'src/inbox.ts'), 'utf8')
    expect(written).toContain('postgresStore({ pool, tx: drizzleTx() })')
  })

  test.each([
    ['commonjs', 'as npm init writes it'],
    [undefined, 'without a word about it'],
    ['module', 'of modules'],
  ])('in a service in JavaScript, %s, writes what Node runs (%s)', async (type, _how) => {
    const folder = aProject({ type, dependencies: { express: '5', 'better-sqlite3': '12' } })

    const { output } = await runCommand(['init'], { folder })
    const { status, stderr } = spawnSync(
      process.execPath,
      ['--check', join(folder, 'src/inbox.js')],
      {
        encoding: 'utf8',
      },
    )

    expect([status, stderr]).toEqual([0, ''])
    const isModule = type === 'module'
    expect(readFileSync(join(folder, 'src/inbox.js'), 'utf8')).toContain(
      isModule ? 'export const inbox = ' : 'module.exports = { inbox }',
    )
    expect(output).toContain(
      isModule ? "import { inbox } from './inbox.js'" : "const { inbox } = require('./inbox.js')",
    )
    expect(/^ *await /m.test(output)).toBe(isModule)
  })

  test('in a service with Next.js makes nothing when it is built, and starts it with the server', async () => {
    const folder = aProject({ dependencies: { next: '16', pg: '8', typescript: '5' } })

    const { output } = await runCommand(['init'], { folder })

    const written = readFileSync(join(folder, 'src/inbox.ts'), 'utf8')
    expect(written).toMatch(
      /^export function getInbox\(\) \{\n {2}kept\.hookonce \?\?= makeInbox\(\)$/m,
    )
    expect(written).toMatch(/^ {2}const inbox = createInbox\(/m)
    expect(output).toContain("import { getInbox } from '../../../inbox'\n")
    expect(output).toContain('// src/instrumentation.ts\n')
    expect(output).toContain('await getInbox().start()')
  })

  test('overwrites nothing', async () => {
    const folder = aProject(EXPRESS)
    writeFileSync(join(folder, 'src/inbox.ts'), '// mine\n')

    const { code, errors } = await runCommand(['init'], { folder })

    expect(code).toBe(1)
    expect(errors).toContain('was left as it is')
    expect(readFileSync(join(folder, 'src/inbox.ts'), 'utf8')).toBe('// mine\n')
  })

  test('prints what it would write, and writes it nowhere', async () => {
    const folder = aFolder()

    const { code, output } = await runCommand(['init', '--dry-run'], { folder })

    expect(code).toBe(0)
    expect(output).toContain('"provider": "stripe"')
    expect(existsSync(join(folder, 'hookonce.config.json'))).toBe(false)
  })

  test('refuses a package.json that is no JSON', async () => {
    const folder = aFolder()
    writeFileSync(join(folder, 'package.json'), '{')

    expect(await runCommand(['init'], { folder })).toMatchObject({ code: 2 })
  })

  test('what it writes compiles', { timeout: 600_000 }, async () => {
    const projects = [
      EXPRESS,
      { dependencies: { hono: '4', 'better-sqlite3': '12', 'drizzle-orm': '0.45' } },
      { dependencies: { fastify: '5', kysely: '0.28', pg: '8' } },
      { dependencies: { '@nestjs/core': '11', knex: '3', pg: '8' } },
      { dependencies: { next: '16', '@prisma/client': '7' } },
      { dependencies: { next: '16', 'better-sqlite3': '12' } },
      {},
    ]
    const texts: string[] = []
    for (const project of projects) {
      const manifest = { devDependencies: { typescript: '5' }, ...project }
      const { output } = await runCommand(['init', '--json'], { folder: aProject(manifest) })
      texts.push((JSON.parse(output) as { text: string }).text)
    }

    const text = texts.map((each) => `\`\`\`ts\n${each}\`\`\`\n`).join('\n')
    const blocks = assembleSnippets(listBlocks({ name: 'docs/init.md', text }))
    expect(blocks).toHaveLength(projects.length)
    expect(compileSnippets(blocks)).toEqual([])
  })
})

function aProject(manifest: object): string {
  const folder = aFolder()
  mkdirSync(join(folder, 'src'))
  writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest))
  return folder
}
