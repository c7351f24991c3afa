/**
 * Relays that are killed, frozen and doubled: what they send has one effect for each key, at a receiver
 * that honours keys.
 */

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { httpDestination } from '../../src/outbox/http-destination.ts'
import { expectDeathsAt } from '../support/faults/deaths.ts'
import { createFaultDatabase, ENGINES } from '../support/faults/fault-database.ts'
import type { Engine } from '../support/faults/fault-database.ts'
import { accept, createFaultInbox } from '../support/faults/fault-inbox.ts'
import { fromPartner } from '../support/faults/fault-sources.ts'
import { APART_FROM_EVENTS, killAtEveryBoundary } from '../support/faults/kill-at-every-boundary.ts'
import { AT_ONCE, openOutbox } from '../support/faults/outbox-under-fault.ts'
import type { OutboxUnderFault } from '../support/faults/outbox-under-fault.ts'
import { startSubject } from '../support/faults/start-subjects.ts'
import { SubjectPool } from '../support/faults/subject.ts'
import { until } from '../support/faults/until.ts'
import { startSink } from '../support/sink.ts'
import type { Sink, SinkAnswer } from '../support/sink.ts'

const RELAY = { leaseMs: 60_000 }
const LIMIT_MS = 600_000

/** No attempt is over before its time because the machine is busy. */
const PATIENT = { timeoutMs: 30_000, idleTimeoutMs: 29_000 }

function sinkOf({ url }: Sink, times = PATIENT) {
  return { url, allow: ['127.0.0.1'], retry: AT_ONCE, ...times }
}

/** As if the leases of the dead had ended. */
async function endLeases(engine: Engine, { database }: OutboxUnderFault): Promise<void> {
  await database.query(
    engine === 'postgres'
      ? 'update hookonce.message_queue set send_at = now()'
      : 'update hookonce_message_queue set send_at = 0',
  )
}

function expectOneEffectEach(sink: Sink, keys: number): void {
  const effects = sink.countEffects()
  expect(effects.size).toBe(keys)
  expect([...effects.values()].filter((count) => count !== 1)).toEqual([])
}

describe.each(ENGINES)('a relay on %s', (engine) => {
  let relays: SubjectPool
  let workers: SubjectPool
  beforeAll(() => {
    relays = new SubjectPool('relay', 2)
    workers = new SubjectPool('worker', 2)
  })
  afterAll(async () => {
    await relays.close()
    await workers.close()
  })

  test('X01: that is killed when the request has left is followed by another, with the same key', async () => {
    const outbox = await openOutbox(engine)
    const sink = await startSink({
      answer: (_request, count) => (count === 1 ? 'hang' : { status: 200 }),
    })
    await outbox.write(1)
    const config = { store: outbox.database.store, sink: sinkOf(sink), relay: RELAY }
    const victim = await startSubject('relay', config)
    await sink.untilRequests(1)

    await victim.kill()
    await endLeases(engine, outbox)
    await outbox.relay([httpDestination('sink', sinkOf(sink))], RELAY)
    const [sent] = await outbox.untilIn('sent')

    expect(sink.list().map(({ key }) => key)).toEqual([sent?.key, sent?.key])
    expectOneEffectEach(sink, 1)
  })

  test('X01: that is killed uses up none of the attempts of its message', async () => {
    const outbox = await openOutbox(engine)
    const sink = await startSink({
      answer: (_request, count) =>
        count <= 2 ? 'hang' : { status: count === 3 ? 503 : 200, body: `answer ${count}` },
    })
    const destination = { ...sinkOf(sink), retry: { ...AT_ONCE, attemptsMax: 2 } }
    await outbox.write(1)
    for (const kills of [1, 2]) {
      const config = { store: outbox.database.store, sink: destination, relay: RELAY }
      const victim = await startSubject('relay', config)
      await sink.untilRequests(kills)
      await victim.kill()
      await endLeases(engine, outbox)
    }

    await outbox.relay([httpDestination('sink', destination)], RELAY)
    await until(
      'it has come to an end',
      async () => (await outbox.database.count('message_queue')) === 0,
    )

    const [sent] = await outbox.list('sent')
    expect(sent?.failures).toMatchObject([{ attempt: 3, response: { status: 503 } }])
    expect(sent?.attempts).toBe(4)
    const said = sink.list().map(({ headers }) => headers['hookonce-attempt'])
    expect(said).toEqual(['1', '2', '3', '4'])
  })

  test(
    'X02: that is killed at any of its statements leaves nothing unsent, and one effect for each key',
    { timeout: LIMIT_MS },
    async () => {
      const outbox = await openOutbox(engine)
      const sink = await startSink()
      const config = { store: outbox.database.store, sink: sinkOf(sink), relay: RELAY }
      const statements =
        engine === 'postgres'
          ? [/claim_messages/, /settle_messages/]
          : [/update \S*message_queue/, /insert into \S*message_outcomes/, /commit of .*message_/]
      const { started, deaths } = await killAtEveryBoundary({
        pool: relays,
        config,
        decisive: statements,
        except: APART_FROM_EVENTS,
        prepare: () => outbox.write(1),
        untilThrough: (victim) => victim.untilHappened('message.sent'),
      })

      expectDeathsAt(deaths, engine, statements)
      await endLeases(engine, outbox)
      await outbox.relay([httpDestination('sink', sinkOf(sink))], RELAY)
      await outbox.untilIn('sent', started)
      expectOneEffectEach(sink, started)
      expect(await outbox.list('ready')).toEqual([])
    },
  )

  test(
    'X03: a message is there if and only if its handler took effect, whichever statement the worker dies at',
    { timeout: LIMIT_MS },
    async () => {
      const database = await createFaultDatabase(engine)
      const looker = createFaultInbox(database)
      const sink = { url: 'https://example.com/hooks' }
      const countMessages = async () =>
        (await looker.inbox.admin.listMessages({ state: 'ready', limit: 1_000 })).messages.length
      const countEffects = async () => database.countEffects()
      await looker.inbox.admin.countEvents()
      // PostgreSQL may still be undoing what the dead process had open.
      const untilUndone = () =>
        until(
          'what was open is undone',
          async () => (await countEffects()) === (await countMessages()),
        )
      const decisive = [
        /insert into effects/,
        /messages/,
        /commit.* of .*insert into effects.*(?:settle|outcomes)/,
      ]
      const { started, deaths } = await killAtEveryBoundary({
        pool: workers,
        decisive,
        except: APART_FROM_EVENTS,
        config: {
          store: database.store,
          worker: {
            concurrency: 1,
            groupMax: 1,
            deadAfterMs: 600_000,
            crashesMax: 100,
            pollMs: 20,
          },
          sink,
        },
        prepare: async (n) => {
          const steps = [['write', 'done'], ['send']] as const
          await accept(looker, fromPartner({ key: `evt_${n}`, steps }))
        },
        untilThrough: (victim, n) => victim.untilHappened('event.done', `evt_${n}`),
        afterDeath: untilUndone,
      })
      await untilUndone()

      expectDeathsAt(deaths, engine, decisive)
      const survivor = createFaultInbox(database, {
        worker: { concurrency: 4, deadAfterMs: 500, crashesMax: 100 },
        destinations: [httpDestination('sink', sink)],
      })
      survivor.inbox.on('partner', '*', async (event, { tx, send }) => {
        await tx.query('insert into effects values ($1, $2)', [event.key, 'survivor'])
        await send('sink', { event: event.key })
      })
      await survivor.inbox.start()
      await until('nothing is left to do', async () => (await database.count('queue')) === 0, {
        limitMs: LIMIT_MS,
      })
      expect([await countEffects(), await countMessages()]).toEqual([started, started])
    },
  )

  test('X04: that is frozen past its lease has lost it when it thaws, and begins nothing more', async () => {
    const outbox = await openOutbox(engine)
    let release: (answer: SinkAnswer) => void = () => undefined
    const held = new Promise<SinkAnswer>((resolve) => (release = resolve))
    const sink = await startSink({
      answer: (_request, count) => (count === 1 ? held : { status: 200 }),
    })
    await outbox.write(3)
    // It must be frozen before its first attempt has had its time, and then for longer than its lease.
    const times = { timeoutMs: 5_000, idleTimeoutMs: 4_900 }
    const relay = { leaseMs: 5_500 }
    const destination = { ...sinkOf(sink, times), concurrency: 1 }
    const config = { store: outbox.database.store, sink: destination, relay }
    const frozen = await startSubject('relay', config)
    await sink.untilRequests(1)

    await until(
      'it has claimed all of them, and sends them one by one',
      async () => (await outbox.database.count('message_queue', 'lease_token is not null')) === 3,
    )
    frozen.signal('SIGSTOP')
    await outbox.relay([httpDestination('sink', destination)], relay)
    await outbox.untilIn('sent', 3)
    release({ status: 200 })
    frozen.signal('SIGCONT')
    await frozen.untilHappened('message.lease-lost')
    frozen.signal('SIGTERM')
    await frozen.gone

    expect(sink.list()).toHaveLength(4)
    expectOneEffectEach(sink, 3)
    expect((await outbox.list('sent')).map(({ attempts }) => attempts)).toEqual([2, 2, 2])
  })

  test('that is killed leaves no more in doubt than it was sending, where keys are ignored', async () => {
    const outbox = await openOutbox(engine)
    const sink = await startSink({ keys: 'ignored', answer: () => 'hang' })
    await outbox.write(10)
    const victim = await startSubject('relay', {
      store: outbox.database.store,
      sink: { ...sinkOf(sink), keys: 'ignored', concurrency: 2 },
      relay: RELAY,
    })
    await sink.untilRequests(2)

    await victim.kill()

    expect(await outbox.database.count('message_queue', 'lease_token is not null')).toBe(2)
  })

  test(
    'X18: two relays send 10,000 messages, each with one effect',
    { timeout: LIMIT_MS },
    async () => {
      const outbox = await openOutbox(engine)
      const sink = await startSink({ isSynced: false })
      for (let i = 0; i < 10; i += 1) await outbox.write(1_000)
      const config = {
        store: outbox.database.store,
        sink: { ...sinkOf(sink), concurrency: 32 },
        relay: RELAY,
        isQuiet: true,
      }
      const both = await Promise.all([startSubject('relay', config), startSubject('relay', config)])

      await until(
        'all are sent',
        async () => (await outbox.database.count('message_outcomes')) === 10_000,
        { limitMs: LIMIT_MS, everyMs: 200 },
      )
      await Promise.all(both.map((relay) => relay.kill()))

      expectOneEffectEach(sink, 10_000)
      expect(await outbox.database.count('message_queue')).toBe(0)
    },
  )
})
