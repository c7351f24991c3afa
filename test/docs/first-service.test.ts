import { execFile, spawn } from 'node:child_process'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import Database from 'libsql'
import { describe, expect, onTestFinished, test } from 'vitest'
import { hasNodeSqlite } from '../support/sqlite-under-test.ts'
import { createUserProject } from '../support/user-project.ts'
import { listBlocks, readPage } from './markdown.ts'
import type { Block } from './markdown.ts'

/** The blocks of the README's section, in their order. */
function listSection(): readonly Block[] {
  const { name, text } = readPage('README.md')
  const section = /^## A first service\n.*?(?=^## )/ms.exec(text)?.[0] ?? ''
  return listBlocks({ name, text: section })
}

/** A file that the section shows, by the name in its first line. */
function requireFile(name: string): string {
  const block = listSection().find(({ code }) => code.startsWith(`// ${name}\n`))
  if (block === undefined) throw new Error(`The README has no ${name}`)
  return block.code
}

/** The packages that the README tells a user of this Node to install for SQLite. */
function listPackages(): readonly string[] {
  const lines = listBlocks(readPage('README.md')).flatMap(({ code }) => code.split('\n'))
  const node = hasNodeSqlite ? 'Node 22.13' : 'Node 20'
  const line = lines.find((text) => text.startsWith('npm i') && text.includes(`# ${node}`))
  const packages = /^npm i (.+?) *#/.exec(line ?? '')?.[1]?.split(' ')
  if (packages === undefined) throw new Error(`The README does not say what to install on ${node}`)
  return packages
}

/** The command that runs a file, as it is written. */
function requireCommand(file: string): string {
  const lines = listSection().flatMap(({ language, code }) =>
    language === 'sh' ? code.split('\n') : [],
  )
  const command = lines.find((line) => line.includes(`node ${file}`))
  if (command === undefined) throw new Error(`The README does not say how ${file} is run`)
  return command
}

/** Runs the service by the README's own command, on a port that is free, and says what it prints. */
function startService(folder: string) {
  // `exec` for the signal at the end to reach the service and not its shell.
  const command = requireCommand('service.mjs').replace('node ', 'exec node ')
  const child = spawn('sh', ['-c', command], {
    cwd: folder,
    env: { ...process.env, PORT: '0' },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
  onTestFinished(async () => {
    child.kill('SIGKILL')
    await ended
  })
  const lines: string[] = []
  let errors = ''
  createInterface({ input: child.stdout }).on('line', (line) => lines.push(line))
  child.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString()))
  const untilLine = async (pattern: RegExp): Promise<string> => {
    const find = () => lines.map((line) => pattern.exec(line)?.[0]).find(Boolean)
    await expect.poll(() => find() ?? errors).toMatch(pattern)
    return find() ?? ''
  }
  const stop = async (): Promise<number | null> => {
    child.kill('SIGTERM')
    return ended
  }
  return { lines, untilLine, stop, ended, errors: () => errors }
}

describe("the README's first service, copied into an empty folder,", () => {
  test('runs as it stands, and a first event that is sent as told takes effect once', async () => {
    const files = {
      'service.mjs': requireFile('service.mjs'),
      'send.mjs': requireFile('send.mjs'),
    }
    const { folder } = createUserProject(files, listPackages())
    const service = startService(folder)
    const url = await service.untilLine(/http:\S+/)

    const command = requireCommand('send.mjs')
    const shown = /http:\S+/.exec(command)?.[0] ?? ''
    expect(new URL(shown).pathname).toBe(new URL(url).pathname)
    const { stdout } = await promisify(execFile)('sh', ['-c', command.replace(shown, url)], {
      cwd: folder,
      timeout: 110_000,
    })

    const printed = listSection().find(({ code }) => code.includes('duplicate'))
    expect(stdout.trim()).toBe(printed?.code)
    expect(printed?.code.match(/accepted/g)).toHaveLength(1)
    await service.untilLine(/is paid$/)
    expect(await service.stop()).toBe(0)
    expect(service.lines.filter((line) => line.endsWith('is paid'))).toHaveLength(1)
    const database = new Database(path.join(folder, 'app.db'))
    onTestFinished(() => void database.close())
    expect(database.prepare('select status from invoices').raw().all()).toEqual([['paid']])
  })

  test.skipIf(hasNodeSqlite)('says what to install where there is no SQLite', async () => {
    const files = { 'service.mjs': requireFile('service.mjs') }
    const service = startService(createUserProject(files, ['hookonce']).folder)

    expect(await service.ended).not.toBe(0)
    expect(service.errors()).toContain('npm install libsql')
    expect(service.errors()).toContain('DRIVER_MISSING')
  })
})
