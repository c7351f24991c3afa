import { spawn } from 'node:child_process'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { once } from 'node:events'
import { delimiter, join } from 'node:path'
import { onTestFinished } from 'vitest'
import { canConnect, findServerUser, makeServerDir } from './start-postgres.ts'
import type { ConnectionConfig } from './start-postgres.ts'

/** Where `pgbouncer` is installed; Debian puts it where a normal user's PATH does not look. */
export function findPgBouncer(): string | undefined {
  const dirs = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin', '/usr/local/sbin']
  return dirs.map((dir) => join(dir, 'pgbouncer')).find((path) => existsSync(path))
}

/** A pooler in transaction mode before `server`, for the length of the running test. */
export async function startPgBouncer(
  binary: string,
  server: ConnectionConfig,
): Promise<ConnectionConfig> {
  const dir = makeServerDir()
  const port = 6432
  const password =
    server.password === undefined ? '' : ` password='${server.password.replaceAll("'", "''")}'`
  writeFileSync(
    join(dir, 'pgbouncer.ini'),
    `[databases]
* = host=${server.host} port=${server.port} user=${server.user}${password}
[pgbouncer]
listen_addr =
listen_port = ${port}
unix_socket_dir = ${dir}
auth_type = any
pool_mode = transaction
default_pool_size = 5
logfile = ${join(dir, 'log')}
ignore_startup_parameters = extra_float_digits
`,
    { mode: 0o644 },
  )
  const bouncer = spawn(binary, ['-q', join(dir, 'pgbouncer.ini')], {
    ...findServerUser(),
    cwd: dir,
    stdio: 'ignore',
  })
  onTestFinished(async () => {
    if (bouncer.exitCode === null) {
      const ended = once(bouncer, 'exit')
      bouncer.kill('SIGKILL')
      await ended
    }
    rmSync(dir, { recursive: true, force: true })
  })
  const config = { ...server, host: dir, port }
  while (!(await canConnect(config))) {
    if (bouncer.exitCode !== null)
      throw new Error(`PgBouncer ended: ${readFileSync(join(dir, 'log'), 'utf8')}`)
    await new Promise((resolve) => setTimeout(resolve, 25))
  }
  return config
}
