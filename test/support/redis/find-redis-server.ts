import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'

/** Where `redis-server` is installed, or `undefined`. */
export function findRedisServer(): string | undefined {
  const dirs = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/bin', '/usr/local/bin']
  return dirs.map((dir) => join(dir, 'redis-server')).find((path) => existsSync(path))
}

/**
 * The same, after trying to install it where that is ours to do: as root on Debian and its like, as in
 * a container. Nowhere else is anything installed behind somebody's back.
 */
export function findOrInstallRedisServer(): string | undefined {
  const found = findRedisServer()
  if (found !== undefined || process.getuid?.() !== 0 || !existsSync('/usr/bin/apt-get'))
    return found
  // The package would start a server of its own at a fixed port.
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' }
  const options = { env, stdio: 'ignore', timeout: 180_000 } as const
  spawnSync('apt-get', ['update', '-qq'], options)
  spawnSync('apt-get', ['install', '-y', '-qq', '--no-install-recommends', 'redis-server'], options)
  return findRedisServer()
}
