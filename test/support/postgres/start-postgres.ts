/**
 * Real PostgreSQL servers for tests.
 *
 * - Durable as in production: `fsync` and the rest have their defaults, so that a crash test means something.
 * - On a unix socket in a short temporary folder; on TCP only when asked, on a free port.
 * - PostgreSQL refuses to run as root, so root starts it as an unprivileged user.
 * - Nothing is left behind, also when the test process is killed: a small shell process waits for
 *   the end of a pipe that only we hold, then stops the server and removes its folder.
 *
 * @module
 */

import { execFileSync, spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import {
  chmodSync,
  chownSync,
  mkdtempSync,
  openSync,
  closeSync,
  readFileSync,
  rmSync,
} from 'node:fs'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import pg from 'pg'
import { findDataFolder } from '../data-folder.ts'
import { findBinaries, prepareBinaries } from './find-binaries.ts'
import type { ServerVersion } from './find-binaries.ts'
import { freezeTree, killTree, thawTree } from './process-tree.ts'

export interface StartOptions {
  /** Settings of `postgresql.conf`, such as `{ fsync: 'off' }`. */
  readonly settings?: Readonly<Record<string, string>>
  /** Listen on 127.0.0.1 as well, on a free port. */
  readonly tcp?: boolean
  readonly version?: ServerVersion
  /** Added to the environment of the server. */
  readonly env?: Readonly<Record<string, string>>
}

export interface ConnectionConfig {
  readonly host: string
  readonly port: number
  readonly user: string
  readonly database: string
  readonly password?: string
}

export interface PostgresServer {
  readonly socketDir: string
  /** The server's own database, over the socket. */
  readonly config: ConnectionConfig
  /** Over TCP, where `tcp` was asked for. */
  readonly tcpConfig: ConnectionConfig | undefined
  createDatabase(): Promise<ConnectionConfig>
  /** Stops the server and keeps its data. */
  stop(mode: 'fast' | 'immediate'): Promise<void>
  start(): Promise<void>
  /** `kill -9` of the server and all its children, as when the machine loses power over its processes. */
  killAll(): Promise<void>
  /** Lets the server and all its children stand still: connections stay open, and nothing answers. */
  freeze(): void
  thaw(): void
  /** Stops the server and removes everything. */
  dispose(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/**
 * Who runs the server when we are root. 65534 is the account without rights nearly everywhere, and needs no
 * entry anywhere.
 */
export const UNPRIVILEGED_ID = 65534

export async function startPostgres(options: StartOptions = {}): Promise<PostgresServer> {
  const bin = findBinaries(options.version ?? 'embedded')
  if (bin === undefined)
    throw new Error(`No PostgreSQL binaries for ${options.version ?? 'this platform'}`)
  const server = new LocalServer(bin, options)
  try {
    await server.initialise()
    await server.start()
  } catch (error) {
    await server.dispose()
    throw error
  }
  return server
}

/** A user to run a server as, when we may not run it ourselves. */
export function findServerUser(): { uid: number; gid: number } | undefined {
  return process.getuid?.() === 0 ? { uid: UNPRIVILEGED_ID, gid: UNPRIVILEGED_ID } : undefined
}

/** A temporary folder with a path short enough for a socket (about 100 bytes on every system). */
export function makeServerDir(): string {
  const folder = findDataFolder()
  // What the system offers on macOS is already 50 bytes long.
  const dir = mkdtempSync(join(folder.length > 20 ? '/tmp' : folder, 'hookonce-pg-'))
  const user = findServerUser()
  if (user !== undefined) chownSync(dir, user.uid, user.gid)
  chmodSync(dir, 0o755)
  return dir
}

const START_TIMEOUT_MS = 60_000
const STOP_SIGNALS = { fast: 'SIGINT', immediate: 'SIGQUIT' } as const

class LocalServer implements PostgresServer {
  readonly socketDir: string
  readonly #bin: string
  readonly #disposeBinaries: () => void
  readonly #options: StartOptions
  readonly #user = findServerUser()
  readonly #reaper: ChildProcess
  #port = 5432
  #process: ChildProcess | undefined

  constructor(bin: string, options: StartOptions) {
    this.#options = options
    this.socketDir = makeServerDir()
    const prepared = prepareBinaries(bin, this.#user?.uid)
    this.#bin = prepared.bin
    this.#disposeBinaries = prepared.dispose
    this.#reaper = startReaper(this.socketDir, prepared.copy)
  }

  get config(): ConnectionConfig {
    return { host: this.socketDir, port: this.#port, user: 'postgres', database: 'postgres' }
  }

  get tcpConfig(): ConnectionConfig | undefined {
    return this.#options.tcp === true ? { ...this.config, host: '127.0.0.1' } : undefined
  }

  get #dataDir(): string {
    return join(this.socketDir, 'data')
  }

  async initialise(): Promise<void> {
    if (this.#options.tcp === true) this.#port = await findFreePort()
    execFileSync(
      join(this.#bin, 'initdb'),
      [
        '-D',
        this.#dataDir,
        '-U',
        'postgres',
        '--auth=trust',
        '-E',
        'UTF8',
        '--locale=C',
        '--no-sync',
        '--no-instructions',
      ],
      { ...this.#user, cwd: this.socketDir, stdio: ['ignore', 'ignore', 'pipe'] },
    )
  }

  async start(): Promise<void> {
    const log = openSync(join(this.socketDir, 'log'), 'a', 0o666)
    const settings: Record<string, string> = {
      listen_addresses: this.#options.tcp === true ? '127.0.0.1' : '',
      port: String(this.#port),
      unix_socket_directories: this.socketDir,
      // Three files run at once, and each starts processes with pools of twelve: 200 were once too few on a busy
      // machine, where processes that were killed still had their backends.
      max_connections: '500',
      ...this.#options.settings,
    }
    const args = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
    // Detached, so that a Ctrl-C in the terminal reaches us first and the server is stopped in order.
    this.#process = spawn(join(this.#bin, 'postgres'), ['-D', this.#dataDir, ...args], {
      ...this.#user,
      cwd: this.socketDir,
      stdio: ['ignore', log, log],
      env: { ...process.env, ...this.#options.env },
      detached: true,
    })
    this.#process.unref()
    closeSync(log)
    await this.#waitUntilReady(this.#process)
  }

  async #waitUntilReady(server: ChildProcess): Promise<void> {
    const giveUpAt = Date.now() + START_TIMEOUT_MS
    for (;;) {
      if (server.exitCode !== null || server.signalCode !== null) break
      if (await canConnect(this.config)) return
      if (Date.now() > giveUpAt) break
      await new Promise((resolve) => setTimeout(resolve, 25))
    }
    const log = readFileSync(join(this.socketDir, 'log'), 'utf8').slice(-2_000)
    throw new Error(`PostgreSQL did not start:\n${log}`)
  }

  async createDatabase(): Promise<ConnectionConfig> {
    return createDatabaseOn(this.config)
  }

  async stop(mode: 'fast' | 'immediate'): Promise<void> {
    const server = this.#process
    this.#process = undefined
    if (server?.exitCode !== null || server.signalCode !== null) return
    const ended = untilExit(server)
    server.kill(STOP_SIGNALS[mode])
    await ended
  }

  async killAll(): Promise<void> {
    const server = this.#process
    this.#process = undefined
    if (server?.pid === undefined || server.exitCode !== null || server.signalCode !== null) return
    const ended = untilExit(server)
    killTree(server.pid)
    await ended
  }

  freeze(): void {
    if (this.#process?.pid !== undefined) freezeTree(this.#process.pid)
  }

  thaw(): void {
    if (this.#process?.pid !== undefined) thawTree(this.#process.pid)
  }

  async dispose(): Promise<void> {
    await this.stop('immediate')
    const ended = untilExit(this.#reaper)
    this.#reaper.stdin?.end()
    await ended
    this.#disposeBinaries()
    rmSync(this.socketDir, { recursive: true, force: true })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.dispose()
  }
}

/** A child that was left alone with unref() would not keep us alive while we wait for its end. */
async function untilExit(child: ChildProcess): Promise<void> {
  child.ref()
  await once(child, 'exit')
}

/** Makes a database with a name of its own on the server that `admin` points to. */
export async function createDatabaseOn(admin: ConnectionConfig): Promise<ConnectionConfig> {
  const database = `test_${randomBytes(6).toString('hex')}`
  await runOn(admin, `create database ${database}`)
  return { ...admin, database }
}

export async function dropDatabaseOn(admin: ConnectionConfig, database: string): Promise<void> {
  await runOn(admin, `drop database if exists ${database} with (force)`)
}

async function runOn(config: ConnectionConfig, sql: string): Promise<void> {
  const client = new pg.Client(config)
  await client.connect()
  try {
    await client.query(sql)
  } finally {
    await client.end()
  }
}

/** Whether a server answers there. */
export async function canConnect(config: ConnectionConfig): Promise<boolean> {
  const client = new pg.Client(config)
  client.on('error', () => undefined)
  try {
    await client.connect()
    await client.query('select 1')
    return true
  } catch {
    return false
  } finally {
    await client.end().catch(() => undefined)
  }
}

/** `cat` ends when the last holder of the other end of its pipe is gone, however that came about. */
const REAP = `
  cat > /dev/null
  pid=$(head -n 1 "$1/data/postmaster.pid" 2> /dev/null)
  if [ -n "$pid" ]; then
    kill -QUIT "$pid" 2> /dev/null
    tries=0
    while kill -0 "$pid" 2> /dev/null && [ $tries -lt 50 ]; do sleep 0.1; tries=$((tries + 1)); done
  fi
  for dir in "$@"; do rm -rf "$dir"; done`

function startReaper(serverDir: string, binariesCopy: string | undefined): ChildProcess {
  const dirs = binariesCopy === undefined ? [serverDir] : [serverDir, binariesCopy]
  const reaper = spawn('/bin/sh', ['-c', REAP, 'reaper', ...dirs], {
    cwd: '/',
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  })
  reaper.unref()
  // The pipe must not keep us alive either; a child's stdin is a socket with unref().
  ;(reaper.stdin as unknown as { unref(): void }).unref()
  return reaper
}

export async function findFreePort(): Promise<number> {
  const probe = createServer()
  probe.listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const { port } = probe.address() as AddressInfo
  probe.close()
  await once(probe, 'close')
  return port
}
