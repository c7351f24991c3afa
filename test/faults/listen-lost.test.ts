import { describe, expect, test } from 'vitest'
import { createFaultDatabase } from '../support/faults/fault-database.ts'
import { accept, createFaultInbox } from '../support/faults/fault-inbox.ts'
import { fromPartner } from '../support/faults/fault-sources.ts'
import { WRITE_EFFECT } from '../support/faults/scripted-handler.ts'

describe('a worker that cannot LISTEN, as behind a transaction pooler', () => {
  test('C15: hears of nothing, and runs by its poll what another process has stored', async () => {
    const database = await createFaultDatabase('postgres')
    const worker = createFaultInbox(database, {
      worker: {},
      probe: ({ text, phase }) =>
        phase === 'before' && /^\s*listen /i.test(text)
          ? Promise.reject(new Error('no LISTEN here'))
          : undefined,
    })
    worker.inbox.on('partner', '*', (event, { tx }) => tx.query(WRITE_EFFECT, [event.key, 'ran']))
    await worker.inbox.start()
    const receiver = createFaultInbox(database)
    const keys = ['evt_1', 'evt_2', 'evt_3']

    for (const key of keys) {
      await accept(receiver, fromPartner({ key }))
      await worker.untilHappened('event.done', key)
    }

    expect(worker.count('store.listen-lost')).toBe(1)
    expect(worker.statements.some((sql) => /^\s*listen /i.test(sql))).toBe(true)
    expect(await database.listWrongEffects(keys)).toEqual([])
  })

  test('C15: tells once that it does not hear, however often it tries, and once that it does again', async () => {
    const database = await createFaultDatabase('postgres')
    let tries = 0
    const worker = createFaultInbox(database, {
      worker: {},
      probe: ({ text, phase }) => {
        if (phase !== 'before' || !/^\s*listen /i.test(text)) return undefined
        tries += 1
        return tries <= 2 ? Promise.reject(new Error('no LISTEN here')) : undefined
      },
    })
    const restored = worker.untilHappened('store.listen-restored')

    await worker.inbox.start()
    await restored

    expect(tries).toBe(3)
    expect(worker.count('store.listen-lost')).toBe(1)
    expect(worker.count('store.listen-restored')).toBe(1)
  })

  test('C15: a LISTEN connection that is terminated is told, made again, and hears', async () => {
    const database = await createFaultDatabase('postgres')
    const worker = createFaultInbox(database, { worker: { pollMs: 3_600_000 } })
    worker.inbox.on('partner', '*', (event, { tx }) => tx.query(WRITE_EFFECT, [event.key, 'ran']))
    const lost = worker.untilHappened('store.listen-lost')
    const restored = worker.untilHappened('store.listen-restored')
    await worker.inbox.start()

    await database.query(TERMINATE)
    await lost
    await restored

    // With no poll in the next hour only what is heard makes it look.
    const receiver = createFaultInbox(database)
    await accept(receiver, fromPartner({ key: 'evt_1' }))
    await worker.untilHappened('event.done', 'evt_1')
    expect(worker.count('store.listen-lost')).toBe(1)
  })
})

const TERMINATE = `
  select pg_terminate_backend(pid)
    from pg_stat_activity
   where datname = current_database() and query ~* '^\\s*listen '`
