import pg from 'pg'
import { openDriver } from '../../src/store/sqlite/open-driver.ts'
import { createTables } from './create-tables.ts'
import type { ReceiveConfig } from './receive-config.ts'

/**
 * Keys whose events were pruned a while ago: they are kept for redeliveries, and a new event is looked for among them.
 * The hashes are as by chance, as those of real keys are, so that a look-up finds no part of the index warm by itself.
 */
export async function fillKeys(config: ReceiveConfig, keys: number): Promise<void> {
  await createTables(config)
  const { postgres, sqlite } = config
  if (sqlite !== undefined) {
    const handle = (await openDriver('auto')).open(sqlite)
    handle.execute(sqliteText(keys))
    handle.execute('pragma wal_checkpoint(truncate)')
    return handle.close()
  }
  const client = new pg.Client(postgres)
  await client.connect()
  for (const text of postgresTexts(keys)) await client.query(text)
  await client.end()
}

// In the order of the hash, and with the second index made at the end: else filling takes longer than measuring.
function postgresTexts(keys: number): readonly string[] {
  const id = `('00000000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid`
  return [
    'drop index hookonce.keys_event_id',
    `insert into hookonce.keys (hash, event_id, fingerprint)
     select sha256(n::text::bytea) as hash, ${id}, sha256(('body ' || n)::bytea)
       from generate_series(1, ${keys}) n
      order by hash`,
    'create index keys_event_id on hookonce.keys (event_id)',
  ]
}

function sqliteText(keys: number): string {
  return `
    begin immediate;
    drop index hookonce_keys_event_id;
    with recursive s (n) as (select 1 union all select n + 1 from s where n < ${keys})
    insert into hookonce_keys (hash, event_id, fingerprint)
    select randomblob(32) as hash, printf('00000000-0000-7000-8000-%012x', n), randomblob(32)
      from s
     order by hash;
    create index hookonce_keys_event_id on hookonce_keys (event_id);
    commit;`
}
