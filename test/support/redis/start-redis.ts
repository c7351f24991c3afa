import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findProgram } from '../tools/find-or-install.ts'

/** How to reach a server: by a socket in a folder of its own, or by the URL that was given. */
export type RedisAddress = { readonly path: string } | { readonly url: string }

/** A Redis server with nothing in it, at a Unix socket, so that no port can be taken. */
export class RedisServer {
  readonly address: { readonly path: string }
  readonly #dir = mkdtempSync(join(tmpdir(), 'hookonce-redis-'))
  #process: ChildProcess | undefined

  constructor() {
    this.address = { path: join(this.#dir, 'redis.sock') }
  }

  async start(): Promise<this> {
    const args = ['--port', '0', '--unixsocket', this.address.path]
    this.#process = await launch(this.#dir, args, { path: this.address.path })
    return this
  }

  /** As a crash: nothing is saved, and clients see their connections closed. */
  async stop(): Promise<void> {
    await kill(this.#process)
    this.#process = undefined
  }

  /** Alive and silent, as behind a network that drops everything. */
  signal(signal: 'SIGSTOP' | 'SIGCONT'): void {
    this.#process?.kill(signal)
  }

  async dispose(): Promise<void> {
    await this.stop()
    rmSync(this.#dir, { recursive: true, force: true })
  }
}

/** One node of a cluster, which needs ports: those that were free a moment ago. */
export async function startClusterNode(): Promise<{ port: number; dispose(): Promise<void> }> {
  const dir = mkdtempSync(join(tmpdir(), 'hookonce-redis-'))
  for (let attempt = 1; ; attempt += 1) {
    const [port, busPort] = await Promise.all([findFreePort(), findFreePort()])
    const args = ['--port', `${port}`, '--cluster-enabled', 'yes', '--cluster-port', `${busPort}`]
    args.push('--bind', '127.0.0.1', '--cluster-node-timeout', '60000')
    try {
      const node = await launch(dir, args, { port, host: '127.0.0.1' })
      return {
        port,
        dispose: async () => {
          await kill(node)
          rmSync(dir, { recursive: true, force: true })
        },
      }
    } catch (error) {
      if (attempt === 5) throw error
    }
  }
}

async function launch(
  dir: string,
  args: readonly string[],
  target: { path: string } | { port: number; host: string },
): Promise<ChildProcess> {
  const binary = findProgram('redis-server')
  if (binary === undefined) throw new Error('There is no redis-server')
  const lasting = ['--save', '', '--appendonly', 'no', '--dir', dir, '--daemonize', 'no']
  const server = spawn(binary, [...args, ...lasting], { stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  server.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()))
  server.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()))
  while (!(await answers(target))) {
    if (server.exitCode !== null) throw new Error(`redis-server ended: ${output}`)
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  return server
}

function answers(target: { path: string } | { port: number; host: string }): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(target)
    socket.once('connect', () => socket.write('PING\r\n'))
    socket.once('data', (chunk) => {
      socket.destroy()
      resolve(chunk.toString().startsWith('+PONG'))
    })
    socket.once('error', () => resolve(false))
    socket.once('close', () => resolve(false))
  })
}

async function kill(server: ChildProcess | undefined): Promise<void> {
  if (server?.exitCode !== null || server.signalCode !== null) return
  const ended = once(server, 'exit')
  server.kill('SIGKILL')
  await ended
}

async function findFreePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}
