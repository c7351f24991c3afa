import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import amqp from 'amqplib'
import { onTestFinished } from 'vitest'
import { until } from './faults/until.ts'

/** Debian's wrapper in the path runs it as another user; this is what it runs. */
const SERVER = '/usr/lib/rabbitmq/bin/rabbitmq-server'

export const hasRabbitmq = existsSync(SERVER)

/** It starts Erlang, which takes a minute on a busy machine. */
const STARTS_WITHIN_MS = 300_000

/**
 * A RabbitMQ server with nothing in it, for the length of the running test; its URL. It has its own port, its own
 * folder, and its own epmd, so that no other node of the machine is met.
 */
export async function startRabbitmq(): Promise<string> {
  const dir = mkdtempSync(join(tmpdir(), 'hookonce-rabbitmq-'))
  const [port, distPort, epmdPort] = [await freePort(), await freePort(), await freePort()]
  const env = {
    PATH: process.env['PATH'],
    HOME: dir,
    ERL_EPMD_ADDRESS: '127.0.0.1',
    ERL_EPMD_PORT: String(epmdPort),
    // Or it refuses to be ended while it knows a node, and it learns late that the node is gone.
    ERL_EPMD_RELAXED_COMMAND_CHECK: '1',
    RABBITMQ_NODENAME: `hookonce-${port}@localhost`,
    RABBITMQ_NODE_IP_ADDRESS: '127.0.0.1',
    RABBITMQ_NODE_PORT: String(port),
    RABBITMQ_DIST_PORT: String(distPort),
    RABBITMQ_MNESIA_BASE: dir,
    RABBITMQ_LOG_BASE: dir,
    RABBITMQ_ENABLED_PLUGINS_FILE: join(dir, 'plugins'),
    RABBITMQ_CONF_ENV_FILE: join(dir, 'no-environment'),
    RABBITMQ_CONFIG_FILE: join(dir, 'no-config'),
  }
  // A group of its own: the script starts Erlang, and Erlang starts others.
  const server = spawn(SERVER, [], { env, stdio: 'ignore', detached: true })
  onTestFinished(async () => {
    const ended = server.exitCode === null ? once(server, 'exit') : undefined
    if (server.pid !== undefined) process.kill(-server.pid, 'SIGKILL')
    await ended
    spawnSync('epmd', ['-port', String(epmdPort), '-kill'], { env })
    rmSync(dir, { recursive: true, force: true })
  })
  const url = `amqp://guest:guest@127.0.0.1:${port}`
  await until('RabbitMQ takes connections', () => canConnect(url), {
    limitMs: STARTS_WITHIN_MS,
    everyMs: 250,
  })
  return url
}

async function canConnect(url: string): Promise<boolean> {
  try {
    const connection = await amqp.connect(url)
    await connection.close()
    return true
  } catch {
    return false
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  return port
}
