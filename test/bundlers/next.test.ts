/** The service of `docs/guides/raw-bodies.md`, built by Next.js with either of its bundlers, and run. */

import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { createInterface } from 'node:readline'
import Database from 'libsql'
import { describe, expect, onTestFinished, test } from 'vitest'
import { sign } from '../../src/testing/index.ts'
import { listBlocks } from '../docs/markdown.ts'

const ROOT = path.join(import.meta.dirname, '../..')
const NEXT = path.join(import.meta.dirname, 'node_modules/next/dist/bin/next')
const SECRET = 'whsec_test_secret_of_some_length'

describe.each(['turbopack', 'webpack'])('a service that Next.js builds with %s', (bundler) => {
  test('takes a delivery in and runs its handler', async () => {
    const folder = createProject()
    // Without a secret, as where a build runs.
    const built = await runToEnd(folder, ['build', `--${bundler}`])
    expect(built.output).toContain('/webhooks/stripe')
    expect(built.code).toBe(0)

    const url = await startService(folder)
    const { status, body } = await deliver(`${url}/webhooks/stripe`)

    expect({ status, body }).toEqual({
      status: 200,
      body: { status: 'accepted', event: expect.any(String) as string },
    })
    const database = new Database(path.join(folder, 'hooks.db'))
    onTestFinished(() => void database.close())
    await expect
      .poll(() => listPaid(database), { timeout: 60_000 })
      .toEqual([{ invoice: 'in_of_the_test' }])
  })
})

/**
 * Inside this folder, where Next.js is: Turbopack follows no link that leads out of its root. Other packages are
 * copied for the same reason.
 */
function createProject(): string {
  const folder = fs.mkdtempSync(path.join(import.meta.dirname, 'project-'))
  onTestFinished(() => fs.rmSync(folder, { recursive: true, force: true }))
  for (const name of ['libsql', '@libsql', '@neon-rs', 'detect-libc']) {
    const from = path.join(ROOT, 'node_modules', name)
    fs.cpSync(from, path.join(folder, 'node_modules', name), { recursive: true, dereference: true })
  }
  for (const name of ['dist', 'package.json']) {
    const to = path.join(folder, 'node_modules/hookonce', name)
    fs.cpSync(path.join(ROOT, name), to, { recursive: true })
  }
  const files = {
    'package.json': '{"private":true}',
    'next.config.mjs': `export default { turbopack: { root: ${JSON.stringify(import.meta.dirname)} } }`,
    'app/layout.tsx': `export default function Layout({ children }: { children: React.ReactNode }) {
      return <html><body>{children}</body></html>
    }`,
    ...listDocumented(),
  }
  for (const [file, text] of Object.entries(files)) {
    fs.mkdirSync(path.dirname(path.join(folder, file)), { recursive: true })
    fs.writeFileSync(path.join(folder, file), text)
  }
  return folder
}

/** The files of the page's section, each named in its first line. */
function listDocumented(): Record<string, string> {
  const page = 'docs/guides/raw-bodies.md'
  const text = fs.readFileSync(path.join(ROOT, page), 'utf8')
  const section = /^## Next\.js\n.*?(?=^## )/ms.exec(text)?.[0] ?? ''
  const files = listBlocks({ name: page, text: section }).flatMap(({ code }) => {
    const name = /^\/\/ (\S+\.tsx?)\n/.exec(code)?.[1]
    return name === undefined ? [] : [[name, code] as const]
  })
  expect(files.map(([name]) => name)).toEqual([
    'lib/inbox.ts',
    'app/webhooks/stripe/route.ts',
    'instrumentation.ts',
  ])
  return Object.fromEntries(files)
}

function start(folder: string, args: readonly string[], secret?: string): ChildProcess {
  const { STRIPE_WEBHOOK_SECRET: _none, NODE_ENV: _env, ...env } = process.env
  const child = spawn(process.execPath, [NEXT, ...args], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      ...env,
      NEXT_TELEMETRY_DISABLED: '1',
      ...(secret !== undefined && { STRIPE_WEBHOOK_SECRET: secret }),
    },
  })
  onTestFinished(async () => {
    if (child.exitCode !== null) return
    const ended = new Promise((resolve) => child.once('exit', resolve))
    child.kill('SIGKILL')
    await ended
  })
  return child
}

async function runToEnd(
  folder: string,
  args: readonly string[],
): Promise<{ code: number | null; output: string }> {
  const child = start(folder, args)
  let output = ''
  child.stdout?.on('data', (chunk: Buffer) => (output += chunk.toString()))
  child.stderr?.on('data', (chunk: Buffer) => (output += chunk.toString()))
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve))
  return { code, output }
}

/** On a port that is free, when it is ready. */
async function startService(folder: string): Promise<string> {
  const child = start(folder, ['start', '--port', '0', '--hostname', '127.0.0.1'], SECRET)
  child.stderr?.pipe(process.stderr)
  let url = ''
  for await (const line of createInterface({ input: child.stdout as NodeJS.ReadableStream })) {
    url = /Local:\s+(http:\S+)/.exec(line)?.[1] ?? url
    if (line.includes('Ready')) break
  }
  expect(url).not.toBe('')
  return url
}

async function deliver(url: string): Promise<{ status: number; body: unknown }> {
  const event = JSON.stringify({
    id: 'evt_1',
    type: 'invoice.paid',
    created: 1_767_323_045,
    livemode: false,
    data: { object: { id: 'in_of_the_test' } },
  })
  const { headers, body } = sign('stripe', { body: event }, { secret: SECRET })
  const init = {
    method: 'POST',
    headers: headers as Record<string, string>,
    body: Buffer.from(body),
  }
  const response = await fetch(url, init)
  return { status: response.status, body: await response.json() }
}

function listPaid(database: Database.Database): unknown {
  try {
    return database
      .prepare('select invoice from paid')
      .all()
      .map((row) => ({ invoice: (row as { invoice: unknown }).invoice }))
  } catch {
    return []
  }
}
