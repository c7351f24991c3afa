import pg from 'pg'
import { serveBare } from './bare-server.ts'
import { countStatements } from './count-statements.ts'
import type { ReceiveConfig } from './receive-config.ts'
import { runSubject } from './subject.ts'

/** W1 b: one insert for each request, which commits by itself. */
runSubject<ReceiveConfig>(async ({ postgres, poolMax }) => {
  const pool = new pg.Pool({ ...postgres, max: poolMax })
  const statements = countStatements(pool)
  await pool.query(`
    create table inbox (
      key text primary key, type text not null, body bytea not null, headers jsonb not null,
      received_at timestamptz not null default now())`)
  await serveBare(
    async ({ id, type, body, headers }) => {
      await pool.query({
        name: 'insert',
        text: 'insert into inbox (key, type, body, headers) values ($1, $2, $3, $4) on conflict do nothing',
        values: [id, type, body, headers],
      })
    },
    () => ({ statements: statements() }),
  )
  await pool.end()
})
