import postgres from 'postgres'
import { postgresJsTx } from '../../src/bindings/postgres-js.ts'
import type { PostgresJsTx } from '../../src/bindings/postgres-js.ts'
import type { ConnectionConfig } from '../support/postgres/start-postgres.ts'

export type Tx = PostgresJsTx<postgres.Sql>

/** Its connections end soon after their use, so that a test need not end them. */
export function openSql<Types extends Record<string, postgres.PostgresType> = Record<never, never>>(
  config: ConnectionConfig,
  options: postgres.Options<Types> = {},
) {
  const { host, port, user, database, password = '' } = config
  return postgres({
    ...options,
    host,
    port,
    user,
    database,
    password,
    max: 1,
    idle_timeout: 1,
    onnotice: () => undefined,
  })
}

export const createBinding = (config: ConnectionConfig) => postgresJsTx(postgres, openSql(config))

export async function insert(tx: Tx, key: string, note: string): Promise<void> {
  await tx`insert into effects ${tx({ event_key: key, note })}`
}
