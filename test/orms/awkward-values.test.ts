/**
 * What a handler's `tx` writes and reads of values that are easily lost, held to what the same library does on a
 * connection of its own. The process and the sessions are in different zones, neither of which is UTC: where a time is
 * written or read by the wrong one, it is off by hours.
 */

import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { inHandler, openBoundTo, openBoundToFile } from '../bindings/bound-inbox.ts'
import { hasNoPostgres, newPool } from '../support/postgres/open-postgres.ts'
import type { ConnectionConfig } from '../support/postgres/start-postgres.ts'
import { CREATE_AWKWARD, LIBRARIES, ROW } from './awkward-libraries.ts'
import { CREATE_AWKWARD as CREATE_ON_SQLITE, SQLITE_LIBRARIES } from './awkward-sqlite.ts'

const PROCESS_ZONE = 'America/Lima'
const SESSION_ZONE = 'Asia/Kolkata'
/** As the server has it, whatever a client would make of it. */
const KEPT = `select big::text, (moment at time zone 'UTC')::text as moment, local::text, day::text, amount::text,
  data::text, tags::text, encode(bytes, 'hex') as bytes, nothing from awkward`

const zoneBefore = process.env['TZ']
beforeAll(() => {
  process.env['TZ'] = PROCESS_ZONE
})
afterAll(() => {
  if (zoneBefore === undefined) delete process.env['TZ']
  else process.env['TZ'] = zoneBefore
})

/** For every session that begins after it. */
async function setZone(config: ConnectionConfig): Promise<void> {
  const pool = newPool({ ...config, max: 1 })
  const alter = (what: string) =>
    pool.query(
      `do $$ begin execute format('alter database %I ${what}', current_database()); end $$`,
    )
  await alter(`set timezone = ''${SESSION_ZONE}''`)
  // The database is lent to other tests after this one.
  onTestFinished(async () => void (await alter('reset timezone')))
}

describe.skipIf(hasNoPostgres).each(LIBRARIES)(
  '$name on PostgreSQL',
  ({ open, write, read, ownMistake }) => {
    test('writes and reads the same in a handler as on its own connection', async () => {
      let opened: Awaited<ReturnType<typeof open>> | undefined
      const bound = await openBoundTo(async (config) => {
        await setZone(config)
        opened = await open(config)
        return opened.binding
      })
      await bound.query(CREATE_AWKWARD)
      const own: unknown[] = []
      await opened?.own(async (db) => {
        await write(db)
        own.push(await read(db))
      })
      const ownKept = await bound.query(KEPT)
      await bound.query('delete from awkward')

      const lent = await inHandler(bound, async (tx, sql) => {
        await write(tx)
        const { rows } = await sql.query("select current_setting('timezone') as zone")
        return { read: await read(tx), zone: rows[0]?.['zone'] }
      })

      expect(new Date(0).getTimezoneOffset()).toBe(300)
      expect(lent.zone).toBe(SESSION_ZONE)
      expect(lent.read).toEqual(own[0])
      const kept = await bound.query(KEPT)
      expect(kept.map((row) => ({ ...row, ...ownMistake }))).toEqual(ownKept)
      expect(kept).toEqual([
        expect.objectContaining({
          big: '9007199254740993',
          moment: '2026-03-29 01:30:00.123',
          day: '2026-03-29',
          amount: '0.30000000000000000001',
          bytes: '00ff5c27',
          nothing: null,
        }),
      ])
    })
  },
)

/** As the file has it. */
const KEPT_ON_SQLITE = `select cast(big as text) as big, cast(moment as text) as moment, typeof(moment) as moment_type,
  cast(local as text) as local, cast(day as text) as day, amount, data, hex(bytes) as bytes, "nothing" from awkward`

describe.each(SQLITE_LIBRARIES)('$name on SQLite', ({ open, write, read }) => {
  test('writes and reads the same in a handler as on its own connection', async () => {
    let opened: Awaited<ReturnType<typeof open>> | undefined
    const bound = await openBoundToFile(async (file) => {
      opened = await open(file)
      return opened.binding
    })
    await bound.query(CREATE_ON_SQLITE)
    const own: Readonly<Record<string, unknown>>[] = []
    await opened?.own(async (db) => {
      await write(db, '41')
      own.push(await read(db))
    })
    const ownKept = await bound.query(KEPT_ON_SQLITE)
    await bound.query('delete from awkward')

    const lent = await inHandler(bound, async (tx) => {
      await write(tx, ROW.big)
      return read(tx)
    })

    expect(new Date(0).getTimezoneOffset()).toBe(300)
    expect(String(lent['big'])).toBe(ROW.big)
    expect(toComparable(lent)).toEqual(toComparable(own[0]))
    const kept = await bound.query(KEPT_ON_SQLITE)
    expect(kept.map((row) => ({ ...row, big: '41' }))).toEqual(ownKept)
    expect(kept).toEqual([
      expect.objectContaining({
        big: ROW.big,
        bytes: '00FF5C27',
        nothing: null,
      }),
    ])
  })
})

/** Without the number, which was another one; libsql itself reads bytes as a buffer that has no view. */
function toComparable({ big: _, bytes, ...row }: Readonly<Record<string, unknown>> = {}): object {
  return { ...row, bytes: Buffer.from(bytes as Uint8Array).toString('hex') }
}
