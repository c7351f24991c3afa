/** Next.js, as processes in a project that lies in this folder. */

import { execFileSync, spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { expect, inject, onTestFinished } from 'vitest'
import { sign } from '../../src/testing/index.ts'

const NEXT = path.join(import.meta.dirname, 'node_modules/next/dist/bin/next')
const SECRET = 'whsec_test_secret_of_some_length'

/**
 * Inside this folder, where Next.js is: Turbopack follows no link that leads out of its root. `hookonce` is installed
 * from what `npm pack` made.
 */
export function createFolder(): string {
  const folder = fs.mkdtempSync(path.join(import.meta.dirname, 'project-'))
  onTestFinished(() => fs.rmSync(folder, { recursive: true, force: true }))
  fs.writeFileSync(path.join(folder, 'package.json'), '{"private":true}')
  const install = ['install', '--offline', '--no-audit', '--no-fund', inject('packed').tarball]
  execFileSync('npm', install, { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] })
  return folder
}

function start(
  folder: string,
  args: readonly string[],
  given: NodeJS.ProcessEnv = {},
): ChildProcess {
  const { STRIPE_WEBHOOK_SECRET: _none, NODE_ENV: _env, ...env } = process.env
  const child = spawn(process.execPath, [NEXT, ...args], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      ...env,
      NEXT_TELEMETRY_DISABLED: '1',
      ...given,
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

export async function runToEnd(
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
export async function startService(
  folder: string,
  given: NodeJS.ProcessEnv = {},
  command: 'start' | 'dev' = 'start',
): Promise<string> {
  const child = start(folder, [command, '--port', '0', '--hostname', '127.0.0.1'], {
    ...given,
    STRIPE_WEBHOOK_SECRET: SECRET,
  })
  child.stderr?.pipe(process.stderr)
  let url = ''
  for await (const line of createInterface({ input: child.stdout as NodeJS.ReadableStream })) {
    url = /Local:\s+(http:\S+)/.exec(line)?.[1] ?? url
    if (line.includes('Ready')) break
  }
  expect(url).not.toBe('')
  return url
}

export async function deliver(
  url: string,
  id = 'evt_1',
): Promise<{ status: number; body: unknown }> {
  const event = JSON.stringify({
    id,
    type: 'invoice.paid',
    created: 1_767_323_045,
    livemode: false,
    data: { object: { id: 'in_of_the_test', amount_paid: 4200 } },
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
