import pg from 'pg'
import { serveBare } from './bare-server.ts'
import type { VerifiedRequest } from './bare-server.ts'
import { countStatements } from './count-statements.ts'
import type { ReceiveConfig } from './receive-config.ts'
import { runSubject } from './subject.ts'

/**
 * W1 c: the inbox of the textbooks. One transaction for each request: insert the key, run the handler,
 * mark it done, commit, answer.
 */
runSubject<ReceiveConfig>(async ({ postgres, poolMax }) => {
  const pool = new pg.Pool({ ...postgres, max: poolMax })
  const statements = countStatements(pool)
  await pool.query(`
    create table inbox (
      key text primary key, type text not null, body bytea not null, headers jsonb not null,
      received_at timestamptz not null default now(), done_at timestamptz);
    create table effect (event_key text not null)`)
  const store = async ({ id, type, body, headers }: VerifiedRequest): Promise<void> => {
    const client = await pool.connect()
    try {
      await client.query('begin')
      const { rowCount } = await client.query({
        name: 'insert',
        text: 'insert into inbox (key, type, body, headers) values ($1, $2, $3, $4) on conflict do nothing',
        values: [id, type, body, headers],
      })
      if (rowCount === 1) {
        await client.query({
          name: 'effect',
          text: 'insert into effect (event_key) values ($1)',
          values: [id],
        })
        await client.query({
          name: 'done',
          text: 'update inbox set done_at = now() where key = $1',
          values: [id],
        })
      }
      await client.query('commit')
    } catch (error) {
      await client.query('rollback')
      throw error
    } finally {
      client.release()
    }
  }
  await serveBare(store, () => ({ statements: statements() }))
  await pool.end()
})
