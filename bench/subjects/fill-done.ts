import pg from 'pg'
import { openDriver } from '../../src/store/sqlite/open-driver.ts'
import type { ReceiveConfig } from './receive-config.ts'

const DAY_MS = 86_400_000
const AGE_DAYS = 60

/** Events that were stored and done sixty days ago, a millisecond apart, with bodies of 300 bytes. */
export async function fillDone({ postgres, sqlite }: ReceiveConfig, events: number): Promise<void> {
  const fromMs = Math.floor(Date.now() - AGE_DAYS * DAY_MS)
  if (sqlite !== undefined) {
    const handle = (await openDriver('auto')).open(sqlite)
    handle.execute('pragma busy_timeout = 60000')
    handle.execute(sqliteText(fromMs, events))
    // Else the first delivery would have to bring all of it into the file.
    handle.execute('pragma wal_checkpoint(truncate)')
    return handle.close()
  }
  const client = new pg.Client(postgres)
  await client.connect()
  for (const text of postgresTexts(fromMs, events)) await client.query(text)
  await client.end()
}

const ID = (ms: string): string =>
  `(lpad(to_hex(${ms}), 12, '0') || '7000' || '8000' || lpad(to_hex(n), 12, '0'))::uuid`

function postgresTexts(fromMs: number, events: number): readonly string[] {
  const id = ID(`(${fromMs} + n)::bigint`)
  const series = `generate_series(1, ${events}) n`
  const week = 7 * DAY_MS
  const start = Math.floor((fromMs - 4 * DAY_MS) / week) * week + 4 * DAY_MS
  const bound = (ms: number): string =>
    `${hex(ms).slice(0, 8)}-${hex(ms).slice(8)}-0000-0000-000000000000`
  const partitions = ['events', 'requests', 'attempts', 'outcomes'].flatMap((parent) =>
    [0, 1].map((n) => {
      const from = start + n * week
      const name = new Date(from).toISOString().slice(0, 10).replaceAll('-', '')
      return `create table hookonce.${parent}_${name} partition of hookonce.${parent}
                for values from ('${bound(from)}') to ('${bound(from + week)}')`
    }),
  )
  return [
    ...partitions,
    `insert into hookonce.events (id, source, event_key, type, topic, key_hash, body, headers, received_at,
                                  verified_by, is_text)
     select ${id}, 'stripe', ('old_' || n)::bytea, 'invoice.paid', 1, sha256(n::text::bytea),
            repeat('x', 300)::bytea, '{}', to_timestamp(${fromMs} / 1000.0), '1', true from ${series}`,
    `insert into hookonce.keys (hash, event_id, fingerprint)
     select sha256(n::text::bytea), ${id}, sha256(n::text::bytea) from ${series}`,
    `insert into hookonce.outcomes (event_id, run, state, attempts, duration_ms, settled_at)
     select ${id}, 0, 'done', 1, 5, to_timestamp((${fromMs} + n) / 1000.0) from ${series}`,
    'analyze',
  ]
}

function hex(ms: number): string {
  return ms.toString(16).padStart(12, '0')
}

function sqliteText(fromMs: number, events: number): string {
  const id = `printf('%08x-%04x-7000-8000-%012x', (${fromMs} + n) / 65536, (${fromMs} + n) % 65536, n)`
  const hash = `unhex(printf('%064x', n))`
  const series = `with recursive s (n) as (select 1 union all select n + 1 from s where n < ${events})`
  return `
    begin immediate;
    ${series} insert into hookonce_events (id, source, event_key, type, topic, key_hash, body, headers, received_at,
                                           verified_by)
    select ${id}, 'stripe', cast('old_' || n as blob), 'invoice.paid', 1, ${hash}, zeroblob(300), '{}', ${fromMs}, '1'
      from s;
    ${series} insert into hookonce_keys (hash, event_id, fingerprint) select ${hash}, ${id}, ${hash} from s;
    ${series} insert into hookonce_outcomes (event_id, run, state, attempts, duration_ms, settled_at)
    select ${id}, 0, 'done', 1, 5, ${fromMs} + n from s;
    commit;`
}
