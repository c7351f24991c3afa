import pg from 'pg'
import { signedDelivery } from '../load/signed-requests.ts'
import { effectOf } from './drain-config.ts'
import type { DrainConfig } from './drain-config.ts'
import { hear, runSubject, say, startClock } from './subject.ts'

type TextbookConfig = DrainConfig & { readonly concurrency: number }

const CHUNK = 1_000

/** The inbox of the textbooks as a queue: lock one row, run the handler, mark it done, commit. */
runSubject<TextbookConfig>(async (config) => {
  const { postgres, shape, concurrency } = config
  await fill(config)
  say({ kind: 'filled' })
  await hear('go')

  const pool = new pg.Pool({ ...postgres, max: concurrency })
  const stopClock = startClock()
  await Promise.all(Array.from({ length: concurrency }, () => work(pool, shape)))
  say({ kind: 'finished', ...stopClock(), notes: {} })
  await pool.end()
})

/** On a connection of its own: what PostgreSQL counts for one is told when it ends. */
async function fill({ postgres, events }: TextbookConfig): Promise<void> {
  const pool = new pg.Pool({ ...postgres, max: 1 })
  await pool.query(`
    create table inbox (
      id bigint generated always as identity primary key,
      key text not null unique, type text not null, body bytea not null, done_at timestamptz);
    create index on inbox (id) where done_at is null`)
  for (let from = 0; from < events; from += CHUNK)
    await insert(pool, from, Math.min(CHUNK, events - from))
  await pool.end()
}

async function insert(pool: pg.Pool, from: number, count: number): Promise<void> {
  const bodies = Array.from({ length: count }, (_, index) => signedDelivery(from + index).body)
  const keys = bodies.map((body) => (JSON.parse(body.toString('utf8')) as { id: string }).id)
  await pool.query(
    `insert into inbox (key, type, body)
     select key, 'invoice.paid', body from unnest($1::text[], $2::bytea[]) as new (key, body)`,
    [keys, bodies],
  )
}

async function work(pool: pg.Pool, shape: DrainConfig['shape']): Promise<void> {
  const client = await pool.connect()
  for (;;) {
    await client.query('begin')
    const { rows } = await client.query<{ id: string; body: Buffer }>({
      name: 'claim',
      text: 'select id, body from inbox where done_at is null order by id limit 1 for update skip locked',
    })
    const [row] = rows
    if (row === undefined) break
    const { id } = JSON.parse(row.body.toString('utf8')) as { id: string }
    await client.query({ name: 'effect', ...effectOf(shape, id) })
    await client.query({
      name: 'done',
      text: 'update inbox set done_at = now() where id = $1',
      values: [row.id],
    })
    await client.query('commit')
  }
  await client.query('rollback')
  client.release()
}
