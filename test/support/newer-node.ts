/**
 * A Node that has `node:sqlite`, for the tests of that driver: this one, the one named by
 * `HOOKONCE_TEST_NEWER_NODE`, or one from npm, installed once into the cache of `node_modules`.
 *
 * @module
 */

import { spawn } from 'node:child_process'
import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'

const VERSION = '24.21.0'
const CACHE = join(import.meta.dirname, '../../node_modules/.cache/hookonce-newer-node')

/** Its path, or why there is none. */
export async function findNewerNode(): Promise<{ path: string } | { missing: string }> {
  if (hasNodeSqlite(process.versions.node)) return { path: process.execPath }
  const named = process.env['HOOKONCE_TEST_NEWER_NODE']
  if (named !== undefined) return { path: named }
  const name = `node-${process.platform}-${process.arch}`
  const path = join(CACHE, 'node_modules', name, 'bin', 'node')
  if (existsSync(path)) return { path }
  mkdirSync(CACHE, { recursive: true })
  const install = await run('npm', [
    'install',
    '--prefix',
    CACHE,
    '--no-save',
    '--no-audit',
    '--no-fund',
    `${name}@${VERSION}`,
  ])
  return existsSync(path)
    ? { path }
    : { missing: `npm has no ${name}@${VERSION} for us: ${install.output.slice(-500)}` }
}

export function hasNodeSqlite(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  return major > 22 || (major === 22 && minor >= 13)
}

export function run(
  command: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<{ code: number | null; output: string }> {
  return new Promise((resolve) => {
    const child = spawn(command, args, {
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let output = ''
    child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()))
    child.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()))
    child.on('error', (error) => resolve({ code: null, output: `${output}${error.message}` }))
    child.on('close', (code) => resolve({ code, output }))
  })
}
