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

    expect(worker.statements.some((sql) => /^\s*listen /i.test(sql))).toBe(true)
    expect(await database.listWrongEffects(keys)).toEqual([])
  })
})
