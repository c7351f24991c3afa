/**
 * Runs the command of an installed package as a user would: its version, what a config comes to, a gateway that
 * forwards an event once, and tools for a model on its store. A part of `npm run check:package`.
 *
 * @module
 */

import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import fs from 'node:fs'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import { createInterface } from 'node:readline'
import type { Interface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { sign } from '../src/testing/index.ts'

const SECRET = 'whsec_0123456789abcdef'

/** It waits for conditions, not for this: a gateway that says nothing must not keep the check for ever. */
const PATIENCE_MS = 60_000

/** What is wrong with the command in this folder's `node_modules`; nothing when all is well. */
export async function checkCommand(folder: string, version: string): Promise<readonly string[]> {
  const sink = await startSink()
  try {
    writeConfig(folder, sink.url)
    return [
      ...checkOutput(folder, ['--version'], (output) => output.trim() === version),
      ...checkOutput(
        folder,
        ['config', 'print'],
        (output) => output.includes(sink.url) && !output.includes(SECRET),
      ),
      ...(await checkGateway(folder, sink)),
      ...(await checkMcp(folder)),
    ]
  } finally {
    sink.close()
  }
}

function checkOutput(
  folder: string,
  args: readonly string[],
  isRight: (output: string) => boolean,
): readonly string[] {
  const ran = spawnSync('npx', ['--no-install', 'hookonce', ...args], {
    cwd: folder,
    encoding: 'utf8',
  })
  if (ran.status === 0 && isRight(ran.stdout)) return []
  return [`npx hookonce ${args.join(' ')} says:\n${ran.stdout}${ran.stderr}`]
}

/** Delivers one event twice and then another: each is forwarded once. */
async function checkGateway(folder: string, sink: Sink): Promise<readonly string[]> {
  const args = [
    '--no-install',
    'hookonce',
    'start',
    '--port',
    '0',
    '--admin-port',
    '0',
    '--store',
    'sqlite:events.db',
  ]
  // In a group of its own, which is ended as a whole: npx runs the command below a shell.
  const child = spawn('npx', args, {
    cwd: folder,
    detached: true,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const patience = setTimeout(() => kill(child.pid), PATIENCE_MS)
  const gone = new Promise<void>((resolve) => child.once('close', () => resolve()))
  try {
    const port = await readPort(createInterface({ input: child.stdout }))
    if (port === undefined) return ['npx hookonce start ended before it listened']
    const statuses = []
    for (const key of ['evt_1', 'evt_1', 'evt_2']) statuses.push(await deliver(port, key))
    await Promise.race([sink.untilForwarded('evt_2'), gone])
    const found = `${statuses.join(' ')}, forwarded ${sink.list().join(' ')}`
    const expected = '200 200 200, forwarded evt_1 evt_2'
    return found === expected ? [] : [`the gateway did: ${found}; expected: ${expected}`]
  } finally {
    clearTimeout(patience)
    kill(child.pid)
  }
}

/** Speaks to `hookonce mcp` as an editor does: what the build has left out of the SDK is not missed. */
async function checkMcp(folder: string): Promise<readonly string[]> {
  const child = spawn('npx', ['--no-install', 'hookonce', 'mcp', '--store', 'sqlite:events.db'], {
    cwd: folder,
    detached: true,
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const patience = setTimeout(() => kill(child.pid), PATIENCE_MS)
  try {
    for (const message of MCP_MESSAGES) child.stdin.write(`${JSON.stringify(message)}\n`)
    for await (const line of createInterface({ input: child.stdout })) {
      const { id, result } = JSON.parse(line) as McpAnswer
      if (id !== 2) continue
      const names = result?.tools?.map(({ name }) => name) ?? []
      return names.includes('stats') && !names.includes('retry')
        ? []
        : [`npx hookonce mcp offers: ${names.join(' ')}`]
    }
    return ['npx hookonce mcp ended before it had answered']
  } finally {
    clearTimeout(patience)
    kill(child.pid)
  }
}

interface McpAnswer {
  readonly id?: number
  readonly result?: { readonly tools?: readonly { readonly name: string }[] }
}

const MCP_MESSAGES = [
  {
    jsonrpc: '2.0',
    id: 1,
    method: 'initialize',
    params: {
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name: 'check', version: '1' },
    },
  },
  { jsonrpc: '2.0', method: 'notifications/initialized' },
  { jsonrpc: '2.0', id: 2, method: 'tools/list' },
]

async function deliver(port: number, key: string): Promise<number> {
  const { headers, body } = sign('stripe', { key }, { secret: SECRET })
  const { status } = await fetch(`http://127.0.0.1:${port}/in/stripe`, {
    method: 'POST',
    headers: headers as Record<string, string>,
    body: new Uint8Array(body),
  })
  return status
}

/** Where it listens, from its log; `undefined` when it ends without having said so. */
function readPort(lines: Interface): Promise<number | undefined> {
  return new Promise((resolve) => {
    lines.on('line', (written) => {
      const line = JSON.parse(written) as { msg?: string; receive?: { port: number } }
      if (line.msg === 'gateway.listening') resolve(line.receive?.port)
    })
    lines.once('close', () => resolve(undefined))
  })
}

function kill(pid: number | undefined): void {
  if (pid === undefined) return
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // It has ended.
  }
}

interface Sink {
  readonly url: string
  untilForwarded(key: string): Promise<void>
  /** The ids of the events that have come, sorted. */
  list(): readonly string[]
  close(): void
}

/** Where the gateway forwards to. */
async function startSink(): Promise<Sink> {
  const ids: string[] = []
  const server = http.createServer((request, response) => {
    void text(request).then((body) => {
      ids.push((JSON.parse(body) as { id: string }).id)
      response.end(() => server.emit('forwarded'))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/`,
    untilForwarded: async (key) => {
      while (!ids.includes(key)) await once(server, 'forwarded')
    },
    list: () => ids.toSorted(),
    close: () => {
      server.close()
      server.closeAllConnections()
    },
  }
}

/** In TypeScript, which Node 20 does not run by itself. */
function writeConfig(folder: string, url: string): void {
  const config = {
    sources: { stripe: { provider: 'stripe', secrets: [SECRET], forward: ['app'] } },
    destinations: { app: { url, allowPrivate: true, unsigned: true } },
  }
  const text = `import { defineConfig } from 'hookonce/config'
import type { GatewayConfig } from 'hookonce/config'

const config: GatewayConfig = ${JSON.stringify(config)}
export default defineConfig(config)
`
  fs.writeFileSync(path.join(folder, 'hookonce.config.ts'), text)
}
