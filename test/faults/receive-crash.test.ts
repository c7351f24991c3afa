import { connect } from 'node:net'
import { describe, expect, test } from 'vitest'
import { createFaultDatabase, ENGINES } from '../support/faults/fault-database.ts'
import { createFaultInbox } from '../support/faults/fault-inbox.ts'
import { fromPartner } from '../support/faults/fault-sources.ts'
import { post } from '../support/faults/post.ts'
import { startSubject } from '../support/faults/start-subjects.ts'
import { untilPolicyKept } from '../support/faults/until-policy-kept.ts'
import { until } from '../support/faults/until.ts'

/** The statement that stores events, on either engine. */
const INSERT = 'insert into \\S*events|record_new'

describe.each(ENGINES)('a receiver that is killed on %s', (engine) => {
  // Of `watched`, whose events are stored in a transaction on either engine: others are one call on PostgreSQL.
  test('R02: between INSERT and COMMIT it leaves nothing, and the retry is accepted', async () => {
    const database = await createFaultDatabase(engine)
    const victim = await startSubject('receiver', { store: database.store })
    const delivery = fromPartner({ key: 'evt_1' })
    await victim.arm({ matches: INSERT, phase: 'after', at: 1, then: 'kill' })

    await expect(post(victim.url, delivery, { source: 'watched' })).rejects.toThrow(
      /ECONNRESET|hang up/,
    )
    expect((await victim.gone).signal).toBe('SIGKILL')
    expect(await database.count('events')).toBe(0)

    const survivor = createFaultInbox(database)
    expect(await survivor.inbox.receive('watched', delivery)).toMatchObject({
      status: 200,
      outcome: 'accepted',
    })
    expect(await database.count('events')).toBe(1)
  })

  test('R03: between COMMIT and the answer it leaves the event, and the retry is a duplicate', async () => {
    const database = await createFaultDatabase(engine)
    const victim = await startSubject('receiver', { store: database.store })
    const delivery = fromPartner({ key: 'evt_1' })
    await untilPolicyKept(database)
    await victim.arm({ from: INSERT, matches: '^commit', phase: 'after', at: 1, then: 'kill' })

    await expect(post(victim.url, delivery, { source: 'watched' })).rejects.toThrow(
      /ECONNRESET|hang up/,
    )
    expect(await database.count('events')).toBe(1)

    const survivor = createFaultInbox(database)
    expect(await survivor.inbox.receive('watched', delivery)).toMatchObject({
      status: 200,
      outcome: 'duplicate',
    })
    expect(await database.count('events')).toBe(1)
    expect(await database.count('queue')).toBe(1)
  })

  test('R03: a call that commits by itself is done when its sender is killed before it can answer', async () => {
    const database = await createFaultDatabase(engine)
    const victim = await startSubject('receiver', { store: database.store })
    const delivery = fromPartner({ key: 'evt_1' })
    const last = engine === 'postgres' ? INSERT : '^commit'
    await untilPolicyKept(database)
    await victim.arm({ from: INSERT, matches: last, phase: 'after', at: 1, then: 'kill' })

    await expect(post(victim.url, delivery)).rejects.toThrow(/ECONNRESET|hang up/)

    const survivor = createFaultInbox(database)
    expect(await survivor.inbox.receive('partner', delivery)).toMatchObject({
      status: 200,
      outcome: 'duplicate',
    })
    expect(await database.count('events')).toBe(1)
    expect(await database.count('queue')).toBe(1)
  })

  test('R46: a sender that closes its socket right after the body has its event stored', async () => {
    const database = await createFaultDatabase(engine)
    const receiver = await startSubject('receiver', { store: database.store })
    const delivery = fromPartner({ key: 'evt_impatient' })
    const { port } = new URL(receiver.url)

    await new Promise<void>((resolve) => {
      const socket = connect(Number(port), '127.0.0.1')
      const head = Object.entries({
        ...delivery.headers,
        host: 'x',
        'content-length': delivery.body.byteLength,
      })
      socket.write(
        `POST /in/partner HTTP/1.1\r\n${head.map(([name, value]) => `${name}: ${String(value)}\r\n`).join('')}\r\n`,
      )
      socket.end(delivery.body, () => {
        socket.destroy()
        resolve()
      })
    })

    await until('the event is stored', async () => (await database.count('events')) === 1)
    expect((await post(receiver.url, delivery)).body.status).toBe('duplicate')
    expect(await database.count('events')).toBe(1)
  })

  test('R45: a receiver told to stop answers what is in flight, and acknowledges nothing that is not stored', async () => {
    const database = await createFaultDatabase(engine)
    const receiver = await startSubject('receiver', { store: database.store })
    const deliveries = Array.from({ length: 50 }, (_, i) => fromPartner({ key: `evt_${i}` }))
    // On PostgreSQL the first batch is held before its COMMIT, so that all of them are in flight for certain.
    if (engine === 'postgres') {
      await untilPolicyKept(database)
      await receiver.arm({
        from: INSERT,
        matches: '^commit',
        phase: 'before',
        at: 1,
        then: 'pause',
      })
    }

    const sending = Promise.allSettled(
      deliveries.map((delivery) => post(receiver.url, delivery, { source: 'watched' })),
    )
    if (engine === 'postgres') await receiver.untilReached()
    receiver.signal('SIGTERM')
    if (engine === 'postgres') receiver.goOn()
    const answers = await sending

    expect(await receiver.gone).toMatchObject({ code: 0 })
    const statuses = answers.map((answer) =>
      answer.status === 'fulfilled' ? answer.value.status : 0,
    )
    expect(statuses.filter((status) => ![200, 503, 0].includes(status))).toEqual([])
    if (engine === 'postgres') expect(statuses).toContain(200)
    const reader = createFaultInbox(database)
    const acknowledged = deliveries.filter((_, i) => statuses[i] === 200)
    const outcomes = await Promise.all(
      acknowledged.map((delivery) => reader.inbox.receive('watched', delivery)),
    )
    expect(outcomes.filter(({ outcome }) => outcome !== 'duplicate')).toEqual([])
    await Promise.all(deliveries.map((delivery) => reader.inbox.receive('watched', delivery)))
    expect(await database.count('events')).toBe(50)
  })
})
