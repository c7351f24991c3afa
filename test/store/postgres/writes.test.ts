import { describe, expect, test } from 'vitest'
import { SettingRefusedError } from '../../../src/errors.ts'
import { checkOut } from '../../../src/store/postgres/check-out.ts'
import { createSchemaBinding } from '../../../src/store/postgres/connection.ts'
import { PendingWrites } from '../../../src/store/postgres/pending-writes.ts'
import { anEventDraft } from '../../support/builders.ts'
import { hasNoPostgres, openPostgres } from '../../support/postgres/open-postgres.ts'
import { claim, done } from '../../support/store-steps.ts'

const NOTE = 'insert into notes (note) values ($1)'

async function openGroup(events = 2) {
  const opened = await openPostgres()
  await opened.query('create table notes (id serial primary key, note text)')
  const drafts = Array.from({ length: events }, (_, n) => anEventDraft({ key: `evt_${n}` }))
  await opened.store.events.record(drafts, { deadlineMs: 20_000 })
  const group = await claim(opened.store)
  const lent = group.lend()
  return {
    ...opened,
    group,
    lent,
    tx: lent.tx,
    end: async () => {
      await group.flush()
      await group.settle(group.events.map(done))
      return group.commit()
    },
    notes: async () =>
      (await opened.query('select note from notes order by id')).map(({ note }) => note),
  }
}

describe.skipIf(hasNoPostgres)('writes on PostgreSQL', () => {
  test('of many texts run in their order, each with its own values', async () => {
    const { tx, end, notes } = await openGroup()
    const expected: string[] = []
    for (let n = 0; n < 200; n += 1) {
      if (n % 3 === 0) tx.write(NOTE, [`one ${n}`])
      else if (n % 3 === 1)
        tx.write('insert into notes (note) select $1 || $2', ['two ', String(n)])
      else tx.write(`insert into notes (note) values ('none ${n}')`)
      expected.push(`${['one', 'two', 'none'][n % 3]} ${n}`)
      if (n % 50 === 49) {
        await tx.query(NOTE, ['waited for'])
        expected.push('waited for')
      }
    }

    expect(await end()).toEqual({ status: 'committed' })

    expect(await notes()).toEqual(expected)
  })

  test('come after what was asked before them, also when the handler did not wait for it', async () => {
    const { tx, end, notes } = await openGroup()

    const asked = tx.query(NOTE, ['asked'])
    tx.write(NOTE, ['written'])
    await asked

    expect(await end()).toEqual({ status: 'committed' })
    expect(await notes()).toEqual(['asked', 'written'])
  })

  test('may return rows, which the handler does not get, and may be no statement at all', async () => {
    const { tx, end, notes } = await openGroup()
    tx.write('insert into notes (note) values ($1) returning id, note', ['returned'])
    tx.write(`select repeat('x', 100) from generate_series(1, $1::integer)`, [20_000])
    tx.write('')
    tx.write('-- nothing')
    tx.write(NOTE, ['after'])

    expect(await end()).toEqual({ status: 'committed' })

    expect(await notes()).toEqual(['returned', 'after'])
  })

  test('that were not sent keep the group from being settled or committed', async () => {
    const { tx, group, notes, query } = await openGroup()
    tx.write(NOTE, ['unsent'])
    const settling = group.settle(group.events.map(done))
    await expect(settling).rejects.toThrow('has not been sent')

    expect(await group.commit()).toMatchObject({ status: 'refused' })

    expect(group.hasWrites()).toBe(false)
    expect(await notes()).toEqual([])
    expect(await query('select 1 from hookonce.queue')).toHaveLength(2)
  })

  test('that break a constraint fail with what the database said of the first of them', async () => {
    const { tx, group, end, notes, query } = await openGroup()
    await query('create unique index on notes (note)')
    await group.setSavepoint('m')
    tx.write(NOTE, ['same'])
    tx.write(NOTE, ['same'])
    tx.write('insert into nowhere values (1)')

    await expect(group.flush()).rejects.toMatchObject({ code: '23505' })

    expect(group.status()).toBe('failed')
    const settling = group.settle(group.events.map(done))
    await expect(settling).rejects.toMatchObject({ code: 'TRANSACTION_ABORTED' })
    await group.rollbackTo('m')
    expect(group.status()).toBe('open')
    tx.write(NOTE, ['same'])
    expect(await end()).toEqual({ status: 'committed' })
    expect(await notes()).toEqual(['same'])
  })

  test('that fail are told to what is asked after them', async () => {
    const { tx, group } = await openGroup()
    tx.write('insert into nowhere values (1)')

    await expect(tx.query('select 1')).rejects.toMatchObject({ code: '42P01' })

    expect(group.status()).toBe('failed')
    await group.abandon()
  })

  test('that break a deferred constraint make the COMMIT fail', async () => {
    const { tx, end, query } = await openGroup()
    await query('create table parents (id integer primary key)')
    await query(
      'create table children (id integer references parents deferrable initially deferred)',
    )
    tx.write('insert into children values (7)')

    expect(await end()).toMatchObject({ status: 'refused', error: { code: '23503' } })

    expect(await query('select * from children')).toEqual([])
  })

  test('that meet a lock are told so after the time that a group waits', async () => {
    const { tx, group, pool, query } = await openGroup()
    await query(`insert into notes (note) values ('held')`)
    const holder = await pool.connect()
    await holder.query(`begin; update notes set note = 'changed'`)
    await group.setLockTimeout(20)
    tx.write('update notes set note = $1', ['mine'])

    await expect(group.flush()).rejects.toMatchObject({ code: '55P03' })

    await group.abandon()
    await holder.query('rollback')
    holder.release()
  })

  test('of several statements in one text are refused by the database', async () => {
    const { tx, group, end, notes } = await openGroup()
    await group.setSavepoint('m')
    tx.write(`insert into notes (note) values ('a'); insert into notes (note) values ('b')`)

    await expect(group.flush()).rejects.toThrow(/multiple commands/)

    await group.rollbackTo('m')
    tx.write(NOTE, ['usable'])
    expect(await end()).toEqual({ status: 'committed' })
    expect(await notes()).toEqual(['usable'])
  })

  test('that copy are refused at the call', async () => {
    const { tx, end, notes } = await openGroup()
    tx.write(NOTE, ['before'])

    for (const sql of [
      'copy notes from stdin',
      '/* */ COPY notes (note) FROM STDIN',
      'copy t to stdout',
    ])
      expect(() => tx.write(sql), sql).toThrow(expect.objectContaining({ code: 'OPTION_INVALID' }))

    tx.write(NOTE, ['after'])
    expect(await end()).toEqual({ status: 'committed' })
    expect(await notes()).toEqual(['before', 'after'])
  })

  test('that copy all the same fail, and the connection answers as before', async () => {
    const { pool, query } = await openPostgres()
    await query('create table notes (note text)')
    const connection = await checkOut(pool, createSchemaBinding('"hookonce"'), 20_000)
    const writes = new PendingWrites(connection, () => undefined)
    writes.add({ text: NOTE, values: ['before'] })
    writes.add({ text: 'copy notes from stdin', values: [] })

    await expect(writes.send()).rejects.toMatchObject({ code: '57014' })

    const { rows } = await connection.query<'one'>('select 1 as one')
    expect(rows).toEqual([{ one: '1' }])
    connection.returnToPool()
  })

  test('that change a setting are refused to a group, and at the call', async () => {
    const { tx, group } = await openGroup()

    for (const sql of ['set local lock_timeout = 1', `select set_config('a.b', 'c', true)`])
      expect(() => tx.write(sql), sql).toThrow(SettingRefusedError)

    await group.abandon()
  })

  test('that change a setting of the transaction are for an event that is alone', async () => {
    const { tx, group } = await openGroup(1)

    tx.write(`select set_config('app.tenant', $1, true)`, ['a'])

    const { rows } = await tx.query(`select current_setting('app.tenant') as tenant`)
    expect(rows).toEqual([{ tenant: 'a' }])
    expect(() => tx.write(`set app.tenant = 'b'`)).toThrow('would outlive')
    await group.abandon()
  })

  test('of a handler that has run out of time take nothing along that is another’s', async () => {
    const { group, lent, end, notes } = await openGroup()
    lent.revokeNow()
    const next = group.lend()
    next.tx.write(NOTE, ['another’s'])

    await expect(lent.flush()).rejects.toMatchObject({ code: 'TX_REVOKED' })

    expect(group.hasWrites()).toBe(true)
    expect(await end()).toEqual({ status: 'committed' })
    expect(await notes()).toEqual(['another’s'])
  })

  test('that outlast their handler’s time are not followed by what it asked after them', async () => {
    const { group, lent, tx, end, notes } = await openGroup()
    await group.setSavepoint('m')
    tx.write('select pg_sleep(0.3)')
    const late = tx.query(NOTE, ['late'])
    const ended = late.catch((error: unknown) => error)
    // The sleep is on its way by then.
    await new Promise(setImmediate)
    lent.revokeNow()

    await group.rollbackTo('m')

    expect(await ended).toMatchObject({ code: 'TX_REVOKED' })
    expect(await end()).toEqual({ status: 'committed' })
    expect(await notes()).toEqual([])
  })
})
