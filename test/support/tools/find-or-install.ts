import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'

/** Where a program is installed, or `undefined`. */
export function findProgram(name: string): string | undefined {
  const path = (process.env['PATH'] ?? '').split(delimiter)
  const dirs = [...path, '/usr/bin', '/usr/sbin', '/usr/local/bin']
  return dirs.map((dir) => join(dir, name)).find((file) => existsSync(file))
}

/**
 * The same, after trying to install it where that is ours to do: as root on Debian and its like, as in
 * a container. Nowhere else is anything installed without being asked for.
 */
export function findOrInstall(
  name: string,
  { package: packageName = name }: { readonly package?: string } = {},
): string | undefined {
  const found = findProgram(name)
  if (found !== undefined || process.getuid?.() !== 0 || !existsSync('/usr/bin/apt-get'))
    return found
  // A package with a server would start one of its own at a fixed port.
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' }
  const options = { env, stdio: 'ignore', timeout: 180_000 } as const
  spawnSync('apt-get', ['update', '-qq'], options)
  spawnSync('apt-get', ['install', '-y', '-qq', '--no-install-recommends', packageName], options)
  return findProgram(name)
}
