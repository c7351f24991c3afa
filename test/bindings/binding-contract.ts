import { describe, expect, test } from 'vitest'
import type { OwnTx } from '../../src/store/contract/transaction.ts'
import type { WorkerOptions } from '../../src/work/options.ts'
import { aSignal } from '../support/a-signal.ts'
import { codeBehind } from './bound-inbox.ts'
import type { BoundInbox } from './bound-inbox.ts'

/** However slow the machine is, the events after the first share a transaction. */
const GROUPS = { concurrency: 1, groupBudgetMs: 60_000 }

/** A library on a store, by the few things that the contract does with it. */
export interface BindingUnderTest<Tx, Sql> {
  readonly name: string
  open(worker?: WorkerOptions): Promise<BoundInbox<Tx, Sql>>
  /** Writes a row of `effects`, as the library does it. */
  insert(tx: Tx, key: string, note: string): Promise<unknown>
  /** The library's own way to open a transaction. */
  nest(tx: Tx, work: (inner: Tx) => Promise<void>): Promise<unknown>
  /** Sends a statement as it is. */
  run(tx: Tx, sql: string): Promise<unknown>
  /** What the `from…` function of the library makes of it. */
  asOwn(tx: Tx): OwnTx
}

/** What a handler can rely on with any library. Run by `test/bindings/<library>.test.ts`. */
export function bindingContract<Tx, Sql extends LentSql>(subject: BindingUnderTest<Tx, Sql>): void {
  const { insert, nest, run, asOwn } = subject
  const retry = { firstMs: 0, attemptsMax: 3 }

  describe(`${subject.name}: the tx of a handler`, () => {
    test('writes what commits with the event, and nothing where the handler throws', async () => {
      const { inbox, deliver, untilAll, notes } = await subject.open()
      inbox.on('pings', '*', { retry }, async ({ key }, { tx, attempt }) => {
        await insert(tx, key, `attempt ${attempt}`)
        if (attempt === 1) throw new Error('after the write')
      })
      const done = untilAll('event.done', 1)
      const failed = untilAll('event.failed', 1)
      await inbox.start()

      await deliver('evt_1')
      await failed
      await done

      expect(await notes()).toEqual(['attempt 2'])
    })

    test('has one effect of two hundred duplicates at once', async () => {
      const { inbox, deliver, untilAll, notes } = await subject.open()
      inbox.on('pings', '*', async ({ key }, { tx }) => insert(tx, key, 'paid'))
      const done = untilAll('event.done', 1)
      await inbox.start()

      await Promise.all(Array.from({ length: 200 }, () => deliver('evt_1')))
      await done
      await inbox.stop()

      expect(await notes()).toEqual(['paid'])
    })

    test('is shared by a group, in which one event fails alone', async () => {
      const { inbox, deliver, untilAll, query } = await subject.open(GROUPS)
      for (let at = 0; at < 12; at += 1) await deliver(`evt_${at}`)
      inbox.on('pings', '*', { retry: { attemptsMax: 1 } }, async ({ key }, { tx }) => {
        await insert(tx, key, 'written')
        if (key === 'evt_5') throw new Error('only this one')
      })
      const done = untilAll('event.done', 11)
      const dead = untilAll('event.dead', 1)
      await inbox.start()
      await done
      await dead

      expect(
        await query('select event_key, count(*) as n from effects group by event_key'),
      ).toHaveLength(11)
      expect(await query("select * from effects where event_key = 'evt_5'")).toEqual([])
      expect(await query('select event_key from effects')).toHaveLength(11)
    })

    test('may do what its neighbours would meet: the event then runs alone', async () => {
      const { inbox, deliver, untilAll, notes } = await subject.open(GROUPS)
      for (let at = 0; at < 4; at += 1) await deliver(`evt_${at}`)
      const failures: unknown[] = []
      inbox.events.on('event.failed', (happening) => failures.push(happening))
      inbox.on('pings', '*', async ({ key }, { tx }) => {
        await run(tx, 'create temporary table scratch (a text)')
        await insert(tx, key, 'alone')
        await run(tx, 'drop table scratch')
      })
      const done = untilAll('event.done', 4)
      await inbox.start()
      await done

      expect(failures).toEqual([])
      expect(await notes()).toEqual(['alone', 'alone', 'alone', 'alone'])
    })

    test('hears of its neighbours also where the handler has caught what it was refused', async () => {
      const { inbox, deliver, untilAll, notes } = await subject.open(GROUPS)
      for (let at = 0; at < 4; at += 1) await deliver(`evt_${at}`)
      inbox.on('pings', '*', async ({ key }, { tx }) => {
        const made = await run(tx, 'create temporary table scratch (a text)').then(
          () => 'made',
          () => 'refused',
        )
        await insert(tx, key, made)
        if (made === 'made') await run(tx, 'drop table scratch')
      })
      const done = untilAll('event.done', 4)
      await inbox.start()
      await done

      expect(await notes()).toEqual(['made', 'made', 'made', 'made'])
    })

    test('nests transactions: what is rolled back inside leaves the rest', async () => {
      const { inbox, deliver, untilAll, notes } = await subject.open()
      inbox.on('pings', '*', { retry: { attemptsMax: 1 } }, async ({ key }, { tx }) => {
        await insert(tx, key, 'before')
        const undone = nest(tx, async (inner) => {
          await insert(inner, key, 'undone')
          throw new Error('inside')
        })
        await expect(undone).rejects.toThrow('inside')
        await nest(tx, async (inner) => {
          await insert(inner, key, 'kept')
          await nest(inner, async (innermost) => {
            await insert(innermost, key, 'undone too')
            throw new Error('further inside')
          }).catch(() => undefined)
          await nest(inner, async (innermost) => {
            await insert(innermost, key, 'kept too')
          })
        })
        await insert(tx, key, 'after')
      })
      const done = untilAll('event.done', 1)
      const dead = untilAll('event.dead', 1)
      await inbox.start()

      await deliver('evt_1')
      const [end] = await Promise.race([done, dead])

      expect(end).not.toHaveProperty('error')
      expect(await notes()).toEqual(['after', 'before', 'kept', 'kept too'])
    })

    // What the second one takes back may have been written by the first, whose end was promised.
    test.each([
      ['the first ends well while the second fails', false],
      ['the first fails while the second goes on', true],
    ])('fails the handler of two side by side, whatever it catches: %s', async (_name, fails) => {
      const { inbox, deliver, untilAll, notes } = await subject.open()
      inbox.on('pings', '*', { retry: { attemptsMax: 1 } }, async ({ key }, { tx }) => {
        const firstWrote = aSignal()
        const secondWrote = aSignal()
        const first = nest(tx, async (inner) => {
          await insert(inner, key, 'first')
          firstWrote.give()
          await secondWrote.given
          if (fails) throw new Error('the first')
        })
        await firstWrote.given
        const second = nest(tx, async (inner) => {
          await insert(inner, key, 'second')
          secondWrote.give()
          await Promise.allSettled([first])
          if (!fails) throw new Error('the second')
          await insert(inner, key, 'outside of what was undone')
        })
        await Promise.allSettled([first, second])
      })
      const dead = untilAll('event.dead', 1)
      const done = untilAll('event.done', 1)
      await inbox.start()

      await deliver('evt_1')
      const [end] = await Promise.race([dead, done])

      expect(end).toMatchObject({
        error: {
          code: 'TRANSACTION_CONTROL',
          message: expect.stringContaining('side by side') as string,
        },
      })
      expect(await notes()).toEqual([])
    })

    test('goes on after a statement that failed in a nested transaction', async () => {
      const { inbox, deliver, untilAll, notes } = await subject.open()
      inbox.on('pings', '*', async ({ key }, { tx }) => {
        await nest(tx, async (inner) => {
          await insert(inner, key, 'undone')
          await run(inner, 'insert into no_such_table values (1)')
        }).catch(() => insert(tx, key, 'instead'))
      })
      const done = untilAll('event.done', 1)
      await inbox.start()

      await deliver('evt_1')
      await done

      expect(await notes()).toEqual(['instead'])
    })

    test.each(['commit', 'rollback', 'release savepoint "hookonce_event"'])(
      'refuses a stray %s',
      async (sql) => {
        const { inbox, deliver, untilAll, notes } = await subject.open()
        const codes: unknown[] = []
        inbox.on('pings', '*', async ({ key }, { tx }) => {
          await insert(tx, key, 'before')
          codes.push(await run(tx, sql).then(() => 'taken', codeBehind))
          await insert(tx, key, 'after')
        })
        const done = untilAll('event.done', 1)
        await inbox.start()

        await deliver('evt_1')
        await done

        expect(codes).toEqual(['TRANSACTION_CONTROL'])
        expect(await notes()).toEqual(['after', 'before'])
      },
    )

    test('is refused once the handler has ended', async () => {
      const { inbox, deliver, untilAll, notes } = await subject.open()
      const kept: Tx[] = []
      inbox.on('pings', '*', async ({ key }, { tx }) => {
        kept.push(tx)
        await insert(tx, key, 'in time')
      })
      const done = untilAll('event.done', 1)
      await inbox.start()

      await deliver('evt_1')
      await done

      const late = insert(kept[0] as Tx, 'evt_1', 'late').then(() => 'taken', codeBehind)
      expect(await late).toBe('TX_REVOKED')
      const nested = nest(kept[0] as Tx, async () => undefined).then(() => 'taken', codeBehind)
      expect(await nested).toBe('TX_REVOKED')
      expect(await notes()).toEqual(['in time'])
    })

    test('is the same transaction as sql, in the order of the calls', async () => {
      const { inbox, deliver, untilAll, notes } = await subject.open()
      const seen: unknown[] = []
      inbox.on('pings', '*', async ({ key }, { tx, sql }) => {
        sql.write("insert into effects values ($1, 'b')", [key])
        await insert(tx, key, 'a')
        seen.push((await sql.query('select note from effects order by note')).rows)
      })
      const done = untilAll('event.done', 1)
      await inbox.start()

      await deliver('evt_1')
      await done

      expect(seen).toEqual([[{ note: 'a' }, { note: 'b' }]])
      expect(await notes()).toEqual(['a', 'b'])
    })

    // Code that is shared with a transaction of the user's own knows no other way.
    test('goes to inbox.once and outbox.send, also where it is nested and where events share it', async () => {
      const { inbox, deliver, untilAll, notes } = await subject.open(GROUPS)
      for (let at = 0; at < 4; at += 1) await deliver(`evt_${at}`)
      const found: unknown[] = []
      inbox.on('pings', '*', { retry: { attemptsMax: 1 } }, async ({ key }, { tx }) => {
        const failing = inbox.once(asOwn(tx), { source: 'jobs', key: 'all' }, async () => {
          await insert(tx, key, 'undone')
          throw new Error('no luck')
        })
        const before = await failing.then(
          ({ status }) => status,
          () => 'failed',
        )
        await nest(tx, async (inner) => {
          const once = await inbox.once(
            asOwn(inner),
            { source: 'jobs', key: 'all' },
            async ({ send }) => {
              await insert(inner, key, 'once')
              await send('out', { of: 'the work' })
              return 7
            },
          )
          found.push([before, once.status, 'result' in once ? once.result : undefined])
        })
        await inbox.outbox.send(asOwn(tx), 'out', { of: 'each' }, { key: `each_${key}` })
      })
      const done = untilAll('event.done', 4)
      const dead = untilAll('event.dead', 1)
      const sent = untilAll('message.sent', 5)
      await inbox.start()
      const [end] = await Promise.race([done, dead])

      expect(end).not.toHaveProperty('error')
      expect(found).toHaveLength(4)
      expect(found).toContainEqual(['failed', 'first', 7])
      expect(found.filter((each) => String(each) === 'duplicate,duplicate,7')).toHaveLength(3)
      expect(await notes()).toEqual(['once'])
      expect(await sent).toHaveLength(5)
    })

    test('is what step.tx gets, beside sql, once for each step', async () => {
      const { inbox, deliver, untilAll, notes } = await subject.open()
      inbox.steps('pings', '*', { retry }, async ({ key }, step) => {
        await step.tx('first', async (tx, { sql }) => {
          await insert(tx, key, 'first')
          await sql.query("insert into effects values ($1, 'beside')", [key])
        })
        if (step.attempt === 1) throw new Error('between the steps')
        await step.tx('second', async (tx) => {
          await nest(tx, async (inner) => {
            await insert(inner, key, 'second')
          })
        })
      })
      const done = untilAll('event.done', 1)
      await inbox.start()

      await deliver('evt_1')
      await done

      expect(await notes()).toEqual(['beside', 'first', 'second'])
    })
  })
}

/** How a library reads what handlers have written. `has`: whether there is a row of `effects` with this key. */
export function readingBindingContract<Tx, Sql extends LentSql>(
  subject: BindingUnderTest<Tx, Sql>,
  has: (tx: Tx, key: string) => Promise<boolean>,
): void {
  describe(`${subject.name}: the tx of inbox.reconcile`, () => {
    test('finds the effect that is there, and replays only what has none', async () => {
      const { inbox, deliver, untilAll, query } = await subject.open()
      inbox.on('pings', '*', async ({ key }, { tx }) => subject.insert(tx, key, 'paid'))
      const done = untilAll('event.done', 2)
      await inbox.start()
      await deliver('evt_there')
      await deliver('evt_lost')
      await done
      await query("delete from effects where event_key = 'evt_lost'")

      const again = untilAll('event.done', 1)
      const report = await inbox.reconcile({
        since: new Date(0),
        exists: ({ key }, tx) => has(tx, key),
        rerun: { reason: 'the table was restored' },
      })

      expect(report).toMatchObject({ lookedAt: 2, missing: 1, replayed: 1, failed: 0 })
      expect(report.missingEvents.map(({ key }) => key)).toEqual(['evt_lost'])
      await again
      expect(await query('select event_key from effects order by event_key')).toEqual([
        { event_key: 'evt_lost' },
        { event_key: 'evt_there' },
      ])
    })
  })
}

/** What both stores lend, as far as it is used here. */
interface LentSql {
  query(sql: string, params?: readonly unknown[]): Promise<{ rows: unknown[] }>
  write(sql: string, params?: readonly unknown[]): void
}

/** What only PostgreSQL can do to a handler. */
export function postgresBindingContract<Tx, Sql extends LentSql>(
  subject: BindingUnderTest<Tx, Sql>,
): void {
  const { insert, run } = subject

  describe(`${subject.name}: the tx of a handler`, () => {
    test('has one effect when its connection is cut after the write', async () => {
      const { inbox, deliver, untilAll, query, notes } = await subject.open()
      let runs = 0
      inbox.on('pings', '*', { retry: { firstMs: 0 } }, async ({ key }, { tx, sql }) => {
        runs += 1
        const { rows } = await sql.query('select pg_backend_pid() as pid')
        await insert(tx, key, `run ${runs}`)
        if (runs > 1) return
        const { pid } = rows[0] as { pid: number }
        await query('select pg_terminate_backend($1)', [pid])
      })
      const done = untilAll('event.done', 1)
      await inbox.start()

      await deliver('evt_1')
      await done

      expect(runs).toBe(2)
      expect(await notes()).toEqual(['run 2'])
    })

    test('counts right where two groups fight for a row', async () => {
      const { inbox, deliver, untilAll, query } = await subject.open({ concurrency: 2 })
      await query("insert into effects values ('shared', '0')")
      for (let at = 0; at < 40; at += 1) await deliver(`evt_${at}`)
      inbox.on('pings', '*', async (_event, { tx }) => {
        await run(tx, `update effects set note = (note::int + 1)::text where event_key = 'shared'`)
      })
      const done = untilAll('event.done', 40)
      await inbox.start()
      await done

      expect(await query('select note from effects')).toEqual([{ note: '40' }])
    })
  })
}
