import { describe, expect, onTestFinished, test } from 'vitest'
import { prune } from '../../src/retention/prune.ts'
import type { OnceTerms } from '../../src/once/draft-once.ts'
import { destination } from '../../src/outbox/destination.ts'
import { aSignal } from '../support/a-signal.ts'
import { openInbox, untilDone } from '../support/inbox-under-test.ts'
import type { InboxSetup, InboxUnderTest } from '../support/inbox-under-test.ts'
import { inTransaction } from '../support/own-connection.ts'
import type { OwnConnection } from '../support/own-connection.ts'
import { policyIn } from '../support/retention-steps.ts'
import type { DatabaseUnderTest, StoreUnderTest } from '../support/store-under-test.ts'

export interface OnceUnderTest<Database extends DatabaseUnderTest = DatabaseUnderTest> {
  readonly store: StoreUnderTest<Database>
  connect(database: Database): Promise<OwnConnection>
}

export interface OnceScene extends InboxUnderTest {
  /** A connection of the user's own. */
  connect(): Promise<OwnConnection>
  /** A call in a transaction of its own, whose work writes an effect with the key. */
  call(terms: OnceTerms, result?: unknown): Promise<unknown>
}

/** An inbox that has started, and connections of the user's beside it. */
export async function openOnce(
  { store, connect }: OnceUnderTest,
  setup: InboxSetup = {},
): Promise<OnceScene> {
  const opened = await openInbox(store, setup)
  const own = await connect(opened.database)
  return {
    ...opened,
    connect: () => connect(opened.database),
    call: (terms, result) =>
      inTransaction(own, (tx) =>
        opened.inbox.once(tx, terms, async () => {
          await writeEffect(own, terms.key)
          return result
        }),
      ),
  }
}

/** Text is a literal here, since the placeholders of the two engines differ. */
export async function writeEffect({ tx }: Pick<OwnConnection, 'tx'>, key: string): Promise<void> {
  await tx.query(`insert into effects (event_key) values ('${key.replaceAll("'", "''")}')`)
}

const JOB = { source: 'jobs', key: 'job-1' }
const ORDER = { reason: 'no test waits for a month', actor: 'kim', token: undefined }

/** What `inbox.once` does on every store. Run by `test/once/once-<store>.test.ts`. */
export function onceContract(subject: OnceUnderTest): void {
  describe(`${subject.store.name}: once`, () => {
    test('the work runs for the first call, and a duplicate gets its result', async () => {
      const { call, countEffects } = await openOnce(subject)

      const first = await call(JOB, { paid: [1, null, 'ä\u0000'] })
      const again = await call(JOB, 'another result')

      expect(first).toMatchObject({ status: 'first', result: { paid: [1, null, 'ä\u0000'] } })
      expect(again).toEqual({
        status: 'duplicate',
        isDone: true,
        eventId: (first as { eventId: string }).eventId,
        result: { paid: [1, null, 'ä\u0000'] },
      })
      expect(await countEffects('job-1')).toBe(1)
    })

    test('work that returns nothing gives nothing to a duplicate', async () => {
      const { call } = await openOnce(subject)

      await call(JOB)

      expect(await call(JOB)).toMatchObject({ status: 'duplicate', result: undefined })
    })

    test('a transaction that is rolled back leaves the key free, and nothing else', async () => {
      const { inbox, call, connect, countEffects } = await openOnce(subject)
      const own = await connect()

      await own.begin()
      const undone = await inbox.once(own.tx, JOB, () => writeEffect(own, JOB.key))
      await own.run('rollback')

      expect(undone).toMatchObject({ status: 'first' })
      expect(await inbox.admin.listEventsByKey('jobs', 'job-1')).toEqual([])
      expect(await call(JOB)).toMatchObject({ status: 'first' })
      expect(await countEffects('job-1')).toBe(1)
    })

    test('two hundred duplicates at once have one effect and one result', async () => {
      const { inbox, connect, countEffects } = await openOnce(subject)
      const owns = await Promise.all(Array.from({ length: 20 }, connect))

      const results = await Promise.all(
        owns.flatMap((own, nth) => [
          (async () => {
            const statuses: unknown[] = []
            for (let time = 0; time < 10; time += 1)
              statuses.push(
                await inTransaction(own, (tx) =>
                  inbox.once(tx, JOB, async () => {
                    await writeEffect(own, JOB.key)
                    return { ranOn: nth }
                  }),
                ),
              )
            return statuses
          })(),
        ]),
      )

      const all = results.flat() as { status: string; result: unknown }[]
      const [first] = all.filter(({ status }) => status === 'first')
      expect(all).toHaveLength(200)
      expect(all.filter(({ status }) => status === 'duplicate')).toHaveLength(199)
      expect(all.map(({ result }) => result)).toEqual(all.map(() => first?.result))
      expect(await countEffects('job-1')).toBe(1)
    })

    test('work that throws is undone and frees the key, also where the caller commits the rest', async () => {
      const { inbox, call, connect, countEffects } = await openOnce(subject)
      const own = await connect()

      await inTransaction(own, async (tx) => {
        await writeEffect(own, 'before')
        const failing = inbox.once(tx, JOB, async () => {
          await writeEffect(own, JOB.key)
          throw new Error('no such account')
        })
        await expect(failing).rejects.toThrow('no such account')
        await writeEffect(own, 'after')
      })

      expect(await countEffects('job-1')).toBe(0)
      expect([await countEffects('before'), await countEffects('after')]).toEqual([1, 1])
      expect(await call(JOB)).toMatchObject({ status: 'first' })
    })

    test('a result that cannot be kept is refused, and nothing is done', async () => {
      const { inbox, call, connect, countEffects } = await openOnce(subject)
      const own = await connect()

      const lost = inTransaction(own, (tx) =>
        inbox.once(tx, JOB, async () => {
          await writeEffect(own, JOB.key)
          return new Date()
        }),
      )

      await expect(lost).rejects.toMatchObject({ code: 'RESULT_INVALID' })
      expect(await countEffects('job-1')).toBe(0)
      expect(await call(JOB)).toMatchObject({ status: 'first' })
    })

    test('the same key with another payload is a conflict', async () => {
      const { call, countEffects } = await openOnce(subject)
      const bytes = Buffer.from('{"amount":1}')

      const first = await call({ ...JOB, payload: { amount: 1 } })
      const other = await call({ ...JOB, payload: { amount: 2 } })

      expect(other).toEqual({
        status: 'conflict',
        eventId: (first as { eventId: string }).eventId,
      })
      // What is the same on the wire is the same, and what says nothing contradicts nothing.
      for (const payload of [{ amount: 1 }, bytes, bytes.toString(), undefined])
        expect(await call({ ...JOB, payload })).toMatchObject({ status: 'duplicate' })
      expect(await countEffects('job-1')).toBe(1)
    })

    test('a conflict is told and leaves a line in the log; a duplicate and a first one do not', async () => {
      const lines: { level: string; message: string; fields: unknown }[] = []
      const at = (level: string) => (fields: object, message: string) =>
        void lines.push({ level, message, fields })
      const logger = {
        debug: at('debug'),
        info: at('info'),
        warn: at('warn'),
        error: at('error'),
      }
      const { inbox, call } = await openOnce(subject, { logger })
      const told: unknown[] = []
      inbox.events.on('once.conflict', (happening) => told.push(happening))

      const first = await call({ ...JOB, payload: { amount: 1 } })
      await call({ ...JOB, payload: { amount: 1 } })
      expect(told).toEqual([])
      await call({ ...JOB, type: 'invoice.close', payload: { amount: 2 } })

      const { eventId } = first as { eventId: string }
      const conflict = { ...JOB, eventId, type: 'invoice.close' }
      expect(told).toEqual([conflict])
      expect(lines.filter(({ message }) => message === 'once.conflict')).toEqual([
        {
          level: 'warn',
          message: 'once.conflict',
          fields: { ...conflict, happening: 'once.conflict' },
        },
      ])
    })

    test('a fingerprint is compared in place of the payload', async () => {
      const { call, inbox } = await openOnce(subject)
      const fingerprint = 'amount 1'

      const first = await call({ ...JOB, payload: { amount: 1, try: 1 }, fingerprint })

      expect(await call({ ...JOB, payload: { amount: 1, try: 2 }, fingerprint })).toMatchObject({
        status: 'duplicate',
      })
      expect(await call({ ...JOB, fingerprint: 'amount 2' })).toMatchObject({ status: 'conflict' })
      const { eventId } = first as { eventId: string }
      const event = await inbox.admin.findEvent(eventId)
      expect(Buffer.from(event?.body ?? []).toString()).toBe('{"amount":1,"try":1}')
    })

    test('no two keys are taken for one, whatever is in them', async () => {
      const { inbox, connect } = await openOnce(subject)
      const keys = ['a', 'A', 'a ', 'a\u0000', '\u0000', 'a:b', '1:a', 'é', 'e\u0301', '😀']
      keys.push('\ud800', '\ud801', '"\\ud800"', "'; drop table effects; --", '\r\n')
      keys.push('x'.repeat(4_096), 'x'.repeat(4_095))
      const terms: OnceTerms[] = [
        ...keys.map((key) => ({ source: 'jobs', key })),
        { source: 'jobs', scope: 'a', key: 'b' },
        { source: 'jobs', scope: 'ab', key: 'c' },
        { source: 'jobs', scope: 'a', key: 'bc' },
        { source: 'a', key: 'b' },
      ]

      const own = await connect()
      const statusOf = async (each: OnceTerms) =>
        (
          await inTransaction(own, (tx) =>
            inbox.once(tx, { ...each, type: `t${each.key.slice(0, 9)}` }, () => 1),
          )
        ).status
      for (const each of terms) expect(await statusOf(each)).toBe('first')
      for (const each of terms) expect(await statusOf(each)).toBe('duplicate')
    })

    test('a call that cannot be understood is refused before anything is sent', async () => {
      const { inbox, connect } = await openOnce(subject)
      const { tx } = await connect()
      const wrong: unknown[] = [
        undefined,
        { key: 'k' },
        { source: 'Not A Name', key: 'k' },
        { source: 'jobs' },
        { source: 'jobs', key: '' },
        { source: 'jobs', key: 7 },
        { source: 'jobs', key: 'x'.repeat(4_097) },
        { source: 'jobs', key: 'k', scope: '' },
        { source: 'jobs', key: 'k', type: 'x'.repeat(256) },
        { source: 'jobs', key: 'k', payload: () => 1 },
        { source: 'jobs', key: 'k', payload: 'x'.repeat(1_048_577) },
        { source: 'jobs', key: 'k', fingerprint: 7 },
        { source: 'jobs', key: 'k', onConcurrent: 'run' },
        { source: 'jobs', key: 'k', ttl: 60 },
      ]

      for (const terms of wrong)
        await expect(inbox.once(tx, terms as OnceTerms, () => 1)).rejects.toMatchObject({
          code: 'OPTION_INVALID',
        })
      await expect(inbox.once(tx, JOB, 1 as never)).rejects.toMatchObject({
        code: 'OPTION_INVALID',
      })
    })

    test('a connection that is not inside a transaction is refused, and nothing is written', async () => {
      const { inbox, connect, countEffects } = await openOnce(subject)
      const own = await connect()
      const work = () => writeEffect(own, JOB.key)

      for (const tx of [own.tx, {}, null, 'tx'])
        await expect(inbox.once(tx as never, JOB, work)).rejects.toMatchObject({
          code: 'TRANSACTION_EXPECTED',
        })
      // One that has ended is none.
      await inTransaction(own, async () => undefined)
      await expect(inbox.once(own.tx, JOB, work)).rejects.toMatchObject({
        code: 'TRANSACTION_EXPECTED',
      })
      expect(await countEffects()).toBe(0)
      expect(await inbox.admin.listEventsByKey('jobs', 'job-1')).toEqual([])
    })

    test('a webhook and a call with one source and key are one: the webhook came first', async () => {
      const { inbox, deliverBytes, call, countEffects } = await openOnce(subject)
      inbox.on('pings', '*', () => undefined)
      const { eventId } = await deliverBytes('msg_1', 'body')

      const before = await call({ source: 'pings', key: 'msg_1' })
      const done = untilDone(inbox, 1)
      await inbox.start()
      await done
      const after = await call({ source: 'pings', key: 'msg_1', payload: 'body' })

      expect(before).toEqual({ status: 'duplicate', eventId, isDone: false, result: undefined })
      expect(after).toEqual({ status: 'duplicate', eventId, isDone: true, result: undefined })
      expect(await call({ source: 'pings', key: 'msg_1', payload: 'other' })).toMatchObject({
        status: 'conflict',
      })
      expect(await countEffects()).toBe(0)
    })

    test('a webhook and a call with one source and key are one: the call came first', async () => {
      const { inbox, deliverBytes, call } = await openOnce(subject)
      const ran: string[] = []
      inbox.on('pings', '*', ({ key }) => void ran.push(key))
      await inbox.start()
      const first = await call({ source: 'pings', key: 'msg_1' })

      const delivered = await deliverBytes('msg_1', 'body')
      const done = untilDone(inbox, 1)
      await deliverBytes('msg_2', 'body')
      await done

      const { eventId } = first as { eventId: string }
      expect(delivered).toMatchObject({ outcome: 'duplicate', eventId })
      expect(ran).toEqual(['msg_2'])
    })

    test('messages of the work are sent after COMMIT, once, and not after a rollback', async () => {
      const sent: [string, unknown][] = []
      const mail = destination('mail', ({ body }, { idempotencyKey }) => {
        sent.push([idempotencyKey, JSON.parse(Buffer.from(body).toString())])
      })
      const { inbox, connect } = await openOnce(subject, {
        destinations: [mail],
        relay: { pollMs: 20 },
      })
      await inbox.start()
      const own = await connect()
      const keys: string[] = []
      const call = () =>
        inbox.once(own.tx, JOB, async ({ send, idempotencyKey }) => {
          keys.push(await send('mail', { nth: 1 }), idempotencyKey('charge'))
        })

      await own.begin()
      await call()
      await own.run('rollback')
      const arrived = new Promise((resolve) => inbox.events.on('message.sent', resolve))
      await inTransaction(own, call)
      await inTransaction(own, call)
      inbox.outbox.wake()
      await arrived
      await inbox.stop()

      expect(keys).toHaveLength(4)
      // Derived from the source and key: the second try has those of the first.
      expect(keys.slice(2)).toEqual(keys.slice(0, 2))
      expect(sent).toEqual([[keys[0], { nth: 1 }]])
    })

    test('a message that is sent after the work has returned is refused', async () => {
      const { inbox, connect } = await openOnce(subject, {
        destinations: [destination('mail', () => undefined)],
      })
      const own = await connect()
      let late: (() => unknown) | undefined

      await inTransaction(own, (tx) =>
        inbox.once(tx, JOB, ({ send }) => void (late = () => send('mail', 1))),
      )

      expect(() => late?.()).toThrow(expect.objectContaining({ code: 'TX_REVOKED' }))
    })

    test('operators see it as an event that is done, and cannot replay it', async () => {
      const { inbox, call } = await openOnce(subject)
      const terms = { ...JOB, type: 'invoice.close', payload: { month: 11 } }
      const { eventId } = (await call(terms, { closed: 3 })) as { eventId: string }

      expect(await inbox.admin.findEvent(eventId)).toMatchObject({
        source: 'jobs',
        key: 'job-1',
        type: 'invoice.close',
        verifiedBy: 'once',
        state: 'done',
      })
      expect(await inbox.admin.show(eventId)).toMatchObject({
        event: { id: eventId },
        runs: [{ outcome: { state: 'done', result: '{"closed":3}' } }],
      })
      const page = await inbox.admin.list({ source: 'jobs' })
      expect(page.events.map(({ id }) => id)).toEqual([eventId])
      expect(await inbox.admin.replay(eventId, { reason: 'again' })).toMatchObject({
        status: 'refused',
        code: 'EVENT_NOT_OURS',
      })
    })

    test('an event that was forgotten runs again at the next call', async () => {
      const { inbox, call, countEffects } = await openOnce(subject)
      const { eventId } = (await call(JOB)) as { eventId: string }

      expect(await inbox.admin.forget(eventId)).toMatchObject({ status: 'done' })

      expect(await call(JOB)).toMatchObject({ status: 'first' })
      expect(await countEffects('job-1')).toBe(2)
    })

    test('it is pruned like any other: the payload first, the key and its result later', async () => {
      const { store, call } = await openOnce(subject)
      await call({ ...JOB, payload: 'p' }, 'kept')
      const forced = { force: true, order: ORDER }

      const payload = await prune({ store, policy: policyIn(40) }, forced)
      expect(payload).toMatchObject({ status: 'done', removed: { events: 1, keys: 0 } })
      expect(await call({ ...JOB, payload: 'p' })).toMatchObject({ result: 'kept' })

      const key = await prune({ store, policy: policyIn(46) }, forced)
      expect(key).toMatchObject({ status: 'done', removed: { keys: 1, outcomes: 1 } })
      expect(await call(JOB)).toMatchObject({ status: 'first' })
    })

    test('of two calls at once in a transaction the first runs, and the other is refused and has left nothing', async () => {
      const { inbox, call, connect, countEffects } = await openOnce(subject)
      const own = await connect()
      const other = { source: 'jobs', key: 'job-2' }

      const settled = await inTransaction(own, (tx) =>
        Promise.allSettled([
          inbox.once(tx, JOB, async () => {
            await writeEffect(own, JOB.key)
            return 'kept'
          }),
          inbox.once(tx, other, async () => {
            await writeEffect(own, other.key)
            throw new Error('no such account')
          }),
        ]),
      )

      expect(settled).toMatchObject([
        { status: 'fulfilled', value: { status: 'first' } },
        { status: 'rejected', reason: { code: 'TRANSACTION_CONTROL' } },
      ])
      expect([await countEffects('job-1'), await countEffects('job-2')]).toEqual([1, 0])
      expect(await call(JOB)).toMatchObject({ status: 'duplicate', isDone: true, result: 'kept' })
      expect(await call(other)).toMatchObject({ status: 'first' })
    })

    test('a call that is refused beside another hears of it when that has ended', async () => {
      const { inbox, connect } = await openOnce(subject)
      const own = await connect()
      const ended: string[] = []
      const told = (name: string) => () => void ended.push(name)

      await inTransaction(own, async (tx) => {
        const first = inbox.once(tx, JOB, () => writeEffect(own, JOB.key)).then(told('first'))
        const refused = inbox.once(tx, { source: 'jobs', key: 'job-2' }, () => 1)
        await Promise.all([first, refused.catch(told('refused'))])
      })

      expect(ended).toEqual(['first', 'refused'])
    })

    test('a call beside the work of another is refused, so that it is not undone with it', async () => {
      const { inbox, call, connect, countEffects } = await openOnce(subject)
      const own = await connect()
      const [runs, ends] = [aSignal(), aSignal()]

      await inTransaction(own, async (tx) => {
        const failing = inbox.once(tx, JOB, async () => {
          await writeEffect(own, JOB.key)
          runs.give()
          await ends.given
          throw new Error('no such account')
        })
        await runs.given
        const beside = inbox.once(tx, { source: 'jobs', key: 'job-2' }, () => 1)
        await expect(beside).rejects.toMatchObject({ code: 'TRANSACTION_CONTROL' })
        ends.give()
        await expect(failing).rejects.toThrow('no such account')
        expect(await inbox.once(tx, { source: 'jobs', key: 'job-3' }, () => 1)).toMatchObject({
          status: 'first',
        })
      })

      expect(await countEffects('job-1')).toBe(0)
      expect(await call({ source: 'jobs', key: 'job-2' })).toMatchObject({ status: 'first' })
    })

    test('calls in the work of another run one after the other, and two of them at once do not', async () => {
      const { inbox, connect, countEffects } = await openOnce(subject)
      const own = await connect()
      const inner = (key: string) =>
        inbox.once(own.tx, { source: 'jobs', key }, () => writeEffect(own, key))

      const settled = await inTransaction(own, async (tx) => {
        const { result } = (await inbox.once(tx, JOB, async () => {
          await inner('one')
          await inner('two')
          const both = await Promise.allSettled([inner('three'), inner('four')])
          return both.map(({ status }) => status)
        })) as { result: unknown }
        return result
      })

      expect(settled).toEqual(['fulfilled', 'rejected'])
      for (const key of ['one', 'two', 'three']) expect(await countEffects(key)).toBe(1)
      expect(await countEffects('four')).toBe(0)
    })

    test('a call that the work of another does not wait for is a part of it all the same', async () => {
      const { inbox, call, connect, countEffects } = await openOnce(subject)
      const own = await connect()
      const inner = { source: 'jobs', key: 'inner' }

      await inTransaction(own, async (tx) => {
        const failing = inbox.once(tx, JOB, async () => {
          void inbox.once(tx, inner, () => writeEffect(own, inner.key))
          throw new Error('no such account')
        })
        await expect(failing).rejects.toThrow('no such account')
      })

      expect(await countEffects('inner')).toBe(0)
      expect(await call(inner)).toMatchObject({ status: 'first' })
    })

    test('a call whose claim was undone beside it fails, also where its transaction was not known to be the same', async () => {
      const { inbox, call, connect, countEffects } = await openOnce(subject)
      const own = await connect()
      const another = () => ({
        query: (text: string, values?: unknown[]) => own.tx.query(text, values),
      })
      const [claimed, undone] = [aSignal(), aSignal()]

      await own.begin()
      const failing = inbox.once(another(), { source: 'jobs', key: 'job-2' }, async () => {
        await claimed.given
        throw new Error('no such account')
      })
      const losing = inbox.once(another(), JOB, async () => {
        await writeEffect(own, JOB.key)
        claimed.give()
        await undone.given
        return 'lost'
      })
      await expect(failing).rejects.toThrow('no such account')
      undone.give()
      await expect(losing).rejects.toMatchObject({ code: 'TRANSACTION_CONTROL' })
      await own.run('rollback')

      expect(await countEffects('job-1')).toBe(0)
      expect(await call(JOB)).toMatchObject({ status: 'first' })
    })

    test('a call that throws keeps no claim, also where another has set a savepoint in its work', async () => {
      const { inbox, call, connect } = await openOnce(subject)
      const own = await connect()
      const [runs, ends, opened, goesOn] = [aSignal(), aSignal(), aSignal(), aSignal()]
      const another = {
        query: async (text: string, values?: unknown[]) => {
          const answer = await own.tx.query(text, values)
          if (text.startsWith('savepoint')) {
            opened.give()
            await goesOn.given
          }
          return answer
        },
      }

      await own.begin()
      const failing = inbox.once(own.tx, JOB, async () => {
        runs.give()
        await ends.given
        throw new Error('no such account')
      })
      await runs.given
      const beside = inbox.once(another, { source: 'jobs', key: 'job-2' }, () => 1)
      await opened.given
      ends.give()
      await expect(failing).rejects.toThrow('no such account')
      goesOn.give()
      await beside.catch(() => undefined)
      await own.run('commit')

      expect(await call(JOB)).toMatchObject({ status: 'first' })
    })

    test('two events whose handlers share a key have one effect', async () => {
      const { inbox, deliver, countEffects } = await openInbox(subject.store)
      const statuses: string[] = []
      inbox.on('stripe', '*', async (_event, { tx }) => {
        const { status } = await inbox.once(tx, { source: 'credits', key: 'order-7' }, async () => {
          await tx.query('insert into effects (event_key) values ($1)', ['order-7'])
        })
        statuses.push(status)
      })
      const done = untilDone(inbox, 2)
      await deliver('evt_1')
      await deliver('evt_2')
      await inbox.start()
      await done
      onTestFinished(() => inbox.stop())

      expect(await countEffects('order-7')).toBe(1)
      expect(statuses).toContain('first')
      expect(statuses).toContain('duplicate')
    })
  })
}
