import { Agent } from 'node:http'
import { describe, expect, onTestFinished, test } from 'vitest'
import { createFaultDatabase, ENGINES } from '../support/faults/fault-database.ts'
import { accept, createFaultInbox } from '../support/faults/fault-inbox.ts'
import { fromPartner } from '../support/faults/fault-sources.ts'
import { post } from '../support/faults/post.ts'
import { startSubjects } from '../support/faults/start-subjects.ts'
import type { Subject } from '../support/faults/subject.ts'
import type { SubjectConfig } from '../support/faults/subject-messages.ts'
import { untilPolicyKept } from '../support/faults/until-policy-kept.ts'
import { until } from '../support/faults/until.ts'

describe.each(ENGINES)('deliveries of one event at many processes on %s', (engine) => {
  test('R01: 1,000 equal deliveries over 50 sockets at 3 processes are 1 event, 1 effect and 1,000 answers of 200', async () => {
    const database = await createFaultDatabase(engine)
    const receivers = await startReceivers(3, { store: database.store })
    const agent = new Agent({ keepAlive: true, maxTotalSockets: 50, maxSockets: 17 })
    onTestFinished(() => agent.destroy())
    const delivery = fromPartner({ key: 'evt_storm' })

    const answers = await Promise.all(
      Array.from({ length: 1_000 }, (_, i) => post(urlOf(receivers, i), delivery, { agent })),
    )

    expect(countBy(answers.map(({ status }) => status))).toEqual({ 200: 1_000 })
    expect(countBy(answers.map(({ body }) => body.status))).toEqual({ accepted: 1, duplicate: 999 })
    expect(new Set(answers.map(({ body }) => body.event)).size).toBe(1)
    expect(await database.count('events')).toBe(1)

    const worker = createFaultInbox(database, { worker: {} })
    worker.inbox.on('partner', '*', (event, { tx }) =>
      tx.query('insert into effects values ($1, $2)', [event.key, 'ran']),
    )
    await worker.inbox.start()
    await worker.untilHappened('event.done', 'evt_storm')
    expect(await database.countEffects()).toBe(1)
    expect(await database.count('queue')).toBe(0)
  })

  test('R27: a replay is a duplicate after a restart, and at another process', async () => {
    const database = await createFaultDatabase(engine)
    const delivery = fromPartner({ key: 'evt_replayed' })
    const [first] = await startReceivers(1, { store: database.store })
    expect((await post(first!.url, delivery)).body.status).toBe('accepted')
    await first!.kill()

    const [second, third] = await startReceivers(2, { store: database.store })

    expect((await post(second!.url, delivery)).body.status).toBe('duplicate')
    expect((await post(third!.url, delivery)).body.status).toBe('duplicate')
    expect(await database.count('events')).toBe(1)
  })

  test('R21: two contents under one key at two processes at once are one event and one conflict, both answered 200', async () => {
    const database = await createFaultDatabase(engine)
    const receivers = await startReceivers(2, { store: database.store })
    const contents = [
      fromPartner({ key: 'evt_two', steps: [['write', 'a']] }),
      fromPartner({ key: 'evt_two', steps: [['write', 'b']] }),
    ]

    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, i) => post(urlOf(receivers, i), contents[(i >> 1) % 2]!)),
    )

    expect(countBy(answers.map(({ status }) => status))).toEqual({ 200: 20 })
    expect(await database.count('events')).toBe(2)
    expect(await database.count('queue', `parked = 'conflict'`)).toBe(1)
    const reader = createFaultInbox(database)
    const kept = await reader.inbox.admin.listEventsByKey('partner', 'evt_two')
    expect(kept.map(({ state }) => state).sort()).toEqual(['conflict', 'ready'])
  })

  test('a redelivery after forget is accepted by a process that remembered the event', async () => {
    const database = await createFaultDatabase(engine)
    const receivers = await startReceivers(2, { store: database.store })
    const delivery = fromPartner({ key: 'evt_forgotten' })
    const { body } = await post(receivers[0]!.url, delivery)
    expect((await post(receivers[0]!.url, delivery)).body.status).toBe('duplicate')

    await receivers[1]!.forget(body.event!)

    // The first process learns of it with its next heartbeat; until then a duplicate is the truth of a second ago.
    let redelivered = body
    await until('it is no duplicate', async () => {
      redelivered = (await post(receivers[0]!.url, delivery)).body
      return redelivered.status !== 'duplicate'
    })
    expect(redelivered.status).toBe('accepted')
    expect(redelivered.event).not.toBe(body.event)
  })

  test('a duplicate is answered while the handler of its event still runs inside its transaction', async () => {
    const database = await createFaultDatabase(engine)
    const [receiver] = await startReceivers(1, {
      store: database.store,
      receive: { rememberMax: 0 },
    })
    const worker = createFaultInbox(database, { worker: { concurrency: 1 } })
    const order: string[] = []
    let end: () => void = () => undefined
    const ended = new Promise<void>((resolve) => (end = resolve))
    const running = new Promise<void>((resolve) => {
      worker.inbox.on('partner', '*', async (event, { tx }) => {
        await tx.query('insert into effects values ($1, $2)', [event.key, 'ran'])
        resolve()
        await ended
        order.push('handler ended')
      })
    })
    const delivery = fromPartner({ key: 'evt_slow' })
    await post(receiver!.url, delivery)
    await worker.inbox.start()
    await running

    const answer = await post(receiver!.url, delivery)
    order.push('duplicate answered')
    end()
    await worker.untilHappened('event.done', 'evt_slow')

    expect(answer.body.status).toBe('duplicate')
    expect(order).toEqual(['duplicate answered', 'handler ended'])
    expect(await database.countEffects()).toBe(1)
  })
})

describe('deliveries of one event on PostgreSQL', () => {
  test('R16: a database whose default isolation is repeatable read answers a storm as any other', async () => {
    const database = await createFaultDatabase('postgres')
    const [{ name }] = (await database.query('select current_database() as name')) as [
      { name: string },
    ]
    await database.query(
      `alter database ${name} set default_transaction_isolation = 'repeatable read'`,
    )
    const receivers = [1, 2, 3].map(() =>
      createFaultInbox(database, { receive: { rememberMax: 0 } }),
    )
    await Promise.all(receivers.map(({ inbox }) => inbox.start()))

    const rounds = Array.from({ length: 40 }, (_, i) => fromPartner({ key: `evt_${i}` }))
    const answers = await Promise.all(
      rounds.flatMap((delivery) =>
        receivers.map(({ inbox }) => inbox.receive('partner', delivery)),
      ),
    )

    expect(countBy(answers.map(({ status }) => status))).toEqual({ 200: 120 })
    expect(countBy(answers.map(({ outcome }) => outcome))).toEqual({ accepted: 40, duplicate: 80 })
    expect(await database.count('events')).toBe(40)
  })

  test('R15: a delivery that waits behind another one stores the event when that one is killed', async () => {
    const database = await createFaultDatabase('postgres')
    const second = createFaultInbox(database)
    await accept(second, fromPartner({ key: 'evt_warm' }))
    const [first] = await startReceivers(1, { store: database.store })
    const delivery = fromPartner({ key: 'evt_waited_for' })
    await untilPolicyKept(database)
    // From the insert on: on a busy machine the receiver may still write what it keeps about itself at its start.
    await first!.arm({
      from: 'record_new',
      matches: '^commit',
      phase: 'before',
      at: 1,
      then: 'pause',
    })
    const firstAnswer = post(first!.url, delivery, { source: 'watched' })
    await first!.untilReached()

    const secondAnswer = second.inbox.receive('watched', delivery)
    const waiting = `select blocker from pg_stat_activity, unnest(pg_blocking_pids(pid)) as blocker
                      where datname = current_database() and wait_event_type = 'Lock'`
    let rows: readonly Record<string, unknown>[] = []
    await until('the second delivery waits', async () => {
      rows = await database.query(waiting)
      return rows.length > 0
    })
    await database.query('select pg_terminate_backend($1)', [rows[0]!['blocker']])

    expect(await secondAnswer).toMatchObject({ status: 200, outcome: 'accepted' })
    first!.goOn()
    expect((await firstAnswer).status).toBe(503)
    expect(await database.count('events')).toBe(2)
  })
})

function startReceivers(count: number, config: SubjectConfig): Promise<readonly Subject[]> {
  return startSubjects('receiver', count, config)
}

function urlOf(receivers: readonly Subject[], i: number): string {
  return receivers[i % receivers.length]!.url
}

function countBy(values: readonly (string | number | undefined)[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const value of values) counts[String(value)] = (counts[String(value)] ?? 0) + 1
  return counts
}
