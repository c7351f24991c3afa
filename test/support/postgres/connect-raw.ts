import { connect } from 'node:net'
import type { Socket } from 'node:net'
import { join } from 'node:path'
import type { ConnectionConfig } from './start-postgres.ts'

/** A connection to a server in bytes. As for `pg`, a host that begins with a slash is a socket's folder. */
export function connectRaw({ host, port }: ConnectionConfig): Socket {
  return host.startsWith('/') ? connect(join(host, `.s.PGSQL.${port}`)) : connect(port, host)
}
