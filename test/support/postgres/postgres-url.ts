import type { ConnectionConfig } from './start-postgres.ts'

/** What a config of the gateway calls a database. A host that is a folder of sockets goes behind the question mark. */
export function postgresUrl({ host, port, user, password, database }: ConnectionConfig): string {
  const login = password === undefined ? user : `${user}:${encodeURIComponent(password)}`
  return host.startsWith('/')
    ? `postgres://${login}@localhost:${port}/${database}?host=${encodeURIComponent(host)}`
    : `postgres://${login}@${host}:${port}/${database}`
}
