/** A database of the version before `work-schema.ts`, with events in it. */

import { describe, expect, inject, test } from 'vitest'
import type pg from 'pg'
import { topicOf } from '../../../src/model/topic.ts'
import { bytesOf } from '../../../src/model/stored-body.ts'
import { MIGRATIONS } from '../../../src/store/postgres/migrations.ts'
import { anEventDraft, DRAFTED } from '../../support/builders.ts'
import {
  createEmptyPostgresDatabase,
  hasNoPostgres,
  newPool,
  openStoreOn,
} from '../../support/postgres/open-postgres.ts'
import { claim, dead, done, runOne } from '../../support/store-steps.ts'

/** With the arguments that it had in version 1 to 3; what it did is of no matter here. */
const OLD_RECORD_NEW = `
create function hookonce.record_new(
  ids uuid[], sources text[], event_keys bytea[], types text[], key_hashes bytea[], fingerprints bytea[],
  content_hashes bytea[], bodies bytea[], header_texts text[], received timestamptz[], occurred timestamptz[],
  secrets text[], lock_timeout_ms integer)
returns table (ord bigint, has_key boolean, has_content boolean) language sql as $$ select 1, true, true $$;`

async function migrateToThree(pool: pg.Pool): Promise<void> {
  await pool.query('create schema hookonce')
  await pool.query(
    'create table hookonce.migrations (version integer primary key, applied_at timestamptz not null default now())',
  )
  for (const { version, sql } of MIGRATIONS.slice(0, 3)) {
    await pool.query(sql.replaceAll('{schema}', 'hookonce'))
    await pool.query('insert into hookonce.migrations (version) values ($1)', [version])
  }
  await pool.query(OLD_RECORD_NEW)
}

/** As version 3 stored it. */
async function storeAsThree(pool: pg.Pool, n: number, body: Uint8Array): Promise<void> {
  const id = `00000000-0000-7000-8000-00000000000${n}`
  const key = `evt_${n}`
  const { keyHash, fingerprint } = anEventDraft({ key, body })
  const hash = Buffer.from(keyHash, 'latin1')
  await pool.query('insert into hookonce.keys (hash, event_id, fingerprint) values ($1, $2, $3)', [
    hash,
    id,
    Buffer.from(fingerprint, 'latin1'),
  ])
  await pool.query(
    `insert into hookonce.events (id, source, event_key, type, topic, key_hash, body, headers, received_at, secret)
     values ($1, 'stripe', $2, 'invoice.paid', $5, $3, $4, '{}', now(), 'secret-1')`,
    [id, Buffer.from(key), hash, Buffer.from(body), topicOf(...DRAFTED)],
  )
  await pool.query(
    'insert into hookonce.queue (event_id, topic, run_at) values ($1, $2, clock_timestamp())',
    [id, topicOf(...DRAFTED)],
  )
}

const BODIES = [
  Buffer.from('{"amount":1}'),
  Buffer.from([0xff, 0x00, 0xc3, 0x28]),
  Buffer.from('\ufeff{"é":"🪝"}'),
  Buffer.alloc(0),
]

describe.skipIf(hasNoPostgres)('the migration to version 4', () => {
  test('hands over what was stored before it, byte for byte, beside what is stored after it', async () => {
    const config = await createEmptyPostgresDatabase(inject('postgres'))
    const pool = newPool(config)
    await migrateToThree(pool)
    for (const [n, body] of BODIES.entries()) await storeAsThree(pool, n, body)

    const store = await openStoreOn({ ...config, max: 8 })
    const later = BODIES.map((body, n) => anEventDraft({ key: `evt_${n + 4}`, body }))
    await store.events.record(later, { deadlineMs: 20_000 })
    const known = await store.events.record([anEventDraft({ key: 'evt_0', body: BODIES[0]! })], {
      deadlineMs: 20_000,
    })

    expect(known).toMatchObject([{ status: 'duplicate' }])
    const group = await claim(store)
    expect(group.events.map(({ key }) => key)).toEqual(
      Array.from({ length: 8 }, (_, n) => `evt_${n}`),
    )
    expect(group.events.map(({ body }) => Buffer.from(bytesOf(body)).toString('hex'))).toEqual(
      [...BODIES, ...BODIES].map((body) => body.toString('hex')),
    )
    // Only what was stored since is known to be text.
    expect(group.events.map(({ body }) => 'text' in body)).toEqual([
      ...[false, false, false, false],
      ...[true, false, true, true],
    ])
    await group.settle(group.events.map(done))
    expect(await group.commit()).toEqual({ status: 'committed' })
    expect((await pool.query('select 1 from hookonce.queue')).rowCount).toBe(0)
  })

  test('leaves one function that stores, and retries what died before it', async () => {
    const config = await createEmptyPostgresDatabase(inject('postgres'))
    const pool = newPool(config)
    await migrateToThree(pool)
    await storeAsThree(pool, 1, Buffer.from('{"amount":1}'))

    const store = await openStoreOn({ ...config, max: 8 })
    const id = await runOne(store, dead)
    expect(await store.operators.retryEvent(id)).toBe(true)
    await runOne(store, done)

    expect(await store.operators.findEvent(id)).toMatchObject({ state: 'done' })
    const functions = await pool.query(
      `select 1 from pg_proc p join pg_namespace n on n.oid = p.pronamespace
        where n.nspname = 'hookonce' and p.proname = 'record_new'`,
    )
    expect(functions.rowCount).toBe(1)
  })
})

describe.skipIf(hasNoPostgres)('a database whose encoding cannot hold every text', () => {
  test('hands bodies over all the same', async () => {
    const utf8 = await createEmptyPostgresDatabase(inject('postgres'))
    const admin = newPool(utf8)
    const database = `${utf8.database}_latin1`
    await admin.query(
      `create database "${database}" encoding 'LATIN1' locale 'C' template template0`,
    )
    try {
      const store = await openStoreOn({ ...utf8, database, max: 8 })
      const bodies = ['{"é":1}', '{"🪝":"€"}'].map((text) => Buffer.from(text))
      const drafts = bodies.map((body, n) => anEventDraft({ key: `evt_${n}`, body }))
      await store.events.record(drafts, { deadlineMs: 20_000 })

      const group = await claim(store)

      expect(group.events.map(({ body }) => Buffer.from(bytesOf(body)).toString())).toEqual(
        bodies.map(String),
      )
      await group.settle(group.events.map(done))
      expect(await group.commit()).toEqual({ status: 'committed' })
    } finally {
      await admin.query(`drop database "${database}" with (force)`)
    }
  })
})
