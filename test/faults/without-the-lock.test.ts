/** Handlers on SQLite that have not written yet: their process has no lock, and no transaction that could vanish. */

import { describe, expect, test } from 'vitest'
import { createFaultDatabase } from '../support/faults/fault-database.ts'
import { accept, createFaultInbox } from '../support/faults/fault-inbox.ts'
import { fromPartner } from '../support/faults/fault-sources.ts'
import { startSubject } from '../support/faults/start-subjects.ts'

const WRITE = 'insert into effects values ($1, $2)'
const INSIDE = [
  ['reach', 'inside'],
  ['write', 'victim'],
] as const

/** A worker of another process whose handler waits before it writes, and one of this process. */
async function openWithVictim({ deadAfterMs = 500 } = {}) {
  const database = await createFaultDatabase('sqlite')
  const other = createFaultInbox(database, { worker: { concurrency: 2, deadAfterMs } })
  await accept(other, fromPartner({ key: 'evt_1', steps: INSIDE }))
  const victim = await startSubject('worker', {
    store: database.store,
    worker: { concurrency: 1, deadAfterMs: 60_000 },
  })
  await victim.untilReached('inside evt_1')
  const startOther = async () => {
    other.inbox.on('partner', '*', (event, { tx }) => tx.query(WRITE, [event.key, 'other']))
    await other.inbox.start()
  }
  return { database, other, victim, startOther }
}

describe('a handler that runs without the lock on SQLite', () => {
  test('H25: keeps neither deliveries nor other workers waiting, and is done when it goes on', async () => {
    const patient = { deadAfterMs: 60_000 }
    const { database, other, victim, startOther } = await openWithVictim(patient)
    await startOther()

    await accept(other, fromPartner({ key: 'evt_2' }))
    await other.untilHappened('event.done', 'evt_2')
    victim.goOn('inside evt_1')
    await victim.untilHappened('event.done', 'evt_1')

    expect(await database.query('select event_key, note from effects order by 1')).toEqual([
      { event_key: 'evt_1', note: 'victim' },
      { event_key: 'evt_2', note: 'other' },
    ])
    expect(await other.getEvent('evt_1')).toMatchObject({ failures: [] })
  })

  test('H25: and is killed counts as crashed, and its event runs again', async () => {
    const { database, other, victim, startOther } = await openWithVictim()
    await victim.kill()

    await startOther()
    await other.untilHappened('event.done', 'evt_1')

    expect(other.count('event.crashed')).toBe(1)
    expect(await other.getEvent('evt_1')).toMatchObject({
      state: 'done',
      failures: [{ attempt: 1, reason: 'crashed' }],
    })
    expect(await database.listWrongEffects(['evt_1'])).toEqual([])
  })

  test('C02: and is frozen loses its event to another, and writes nothing when it goes on', async () => {
    const { database, other, victim, startOther } = await openWithVictim()
    victim.signal('SIGSTOP')
    await startOther()
    await other.untilHappened('event.done', 'evt_1')

    victim.signal('SIGCONT')
    victim.goOn('inside evt_1')
    await victim.untilHappened('group.given-back')

    expect(await database.query('select event_key, note from effects')).toEqual([
      { event_key: 'evt_1', note: 'other' },
    ])
    expect(await other.getEvent('evt_1')).toMatchObject({
      state: 'done',
      outcome: { attempts: 1 },
      failures: [{ reason: 'crashed' }],
    })
  })

  test('C21: and is told to stop gives its event back without a lost attempt', async () => {
    const database = await createFaultDatabase('sqlite')
    const leaving = createFaultInbox(database, { worker: { stopGraceMs: 0 } })
    const started = new Promise<void>((resolve) => {
      leaving.inbox.on('partner', '*', () => {
        resolve()
        return new Promise<void>(() => undefined)
      })
    })
    await leaving.inbox.start()
    await accept(leaving, fromPartner({ key: 'evt_1' }))
    await started

    await leaving.inbox.stop()

    const other = createFaultInbox(database, { worker: { deadAfterMs: 60_000 } })
    other.inbox.on('partner', '*', (event, { tx }) => tx.query(WRITE, [event.key, 'other']))
    await other.inbox.start()
    await other.untilHappened('event.done', 'evt_1')
    expect(await other.getEvent('evt_1')).toMatchObject({ outcome: { attempts: 1 }, failures: [] })
    expect(await database.listWrongEffects(['evt_1'])).toEqual([])
  })
})
