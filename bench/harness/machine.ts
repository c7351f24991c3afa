import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import os from 'node:os'
import { join } from 'node:path'
import type { Pool } from 'pg'
import { findNewerNode, findNewestNode, readNodeVersion } from './child.ts'
import { BENCH_DIR } from './folders.ts'

/** What a figure depends on, without a name or a path of the machine it was taken on. */
export interface Machine {
  readonly cpu: string
  readonly cores: number
  readonly memoryGb: number
  readonly system: string
  readonly versions: Readonly<Record<string, string>>
  /** The settings of PostgreSQL that decide what a COMMIT costs. */
  readonly postgresSettings: Readonly<Record<string, string>>
}

/** `hasPeers`: whether others are compared with, so that they are installed. */
export async function describeMachine(postgres: Pool, { hasPeers = true } = {}): Promise<Machine> {
  const newer = findNewerNode()
  return {
    cpu: os.cpus()[0]?.model.trim() ?? 'unknown',
    cores: os.availableParallelism(),
    memoryGb: Math.round(os.totalmem() / 2 ** 30),
    system: `${os.type()} ${os.release()} ${os.arch()}`,
    versions: {
      node: process.version.slice(1),
      ...(newer !== undefined && { 'node with SQLite built in': readNodeVersion(newer) }),
      ...(hasPeers && { 'node where a peer asks for it': readNodeVersion(findNewestNode()) }),
      postgresql: await show(postgres, 'server_version'),
      pg: hasPeers ? readVersion('pg') : readRootVersion('pg'),
      ...(hasPeers && readPeerVersions()),
      libsql: readRootVersion('libsql'),
      wrk: findWrkVersion() ?? 'not here: a generator of our own on Node',
    },
    postgresSettings: {
      fsync: await show(postgres, 'fsync'),
      synchronous_commit: await show(postgres, 'synchronous_commit'),
      shared_buffers: await show(postgres, 'shared_buffers'),
      wal_sync_method: await show(postgres, 'wal_sync_method'),
    },
  }
}

function readPeerVersions(): Readonly<Record<string, string>> {
  const peers = [
    'pg-boss',
    'graphile-worker',
    '@dbos-inc/dbos-sdk',
    'bullmq',
    '@restatedev/restate-sdk',
  ]
  return Object.fromEntries(peers.map((name) => [name, readVersion(name)]))
}

export function findWrkVersion(): string | undefined {
  const { stdout } = spawnSync('wrk', ['-v'], { encoding: 'utf8' })
  return stdout?.split(' ')[1]
}

async function show(postgres: Pool, setting: string): Promise<string> {
  const { rows } = await postgres.query<Record<string, string>>(`show ${setting}`)
  return Object.values(rows[0] ?? {})[0] ?? 'unknown'
}

function readVersion(name: string): string {
  return parseVersion(join(BENCH_DIR, 'node_modules', name, 'package.json'))
}

function readRootVersion(name: string): string {
  try {
    // Not through `require`: a package need not let others see this file.
    return parseVersion(join(BENCH_DIR, '..', 'node_modules', name, 'package.json'))
  } catch {
    return 'not installed'
  }
}

function parseVersion(file: string): string {
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version
}
