/**
 * Connections that are lost at the statements which commit by themselves: those that take leases, write what
 * is known of calls, settle, and claim messages. Whether the server has committed is not known, and each is
 * tried both ways.
 */

import { describe, expect, onTestFinished, test } from 'vitest'
import { destination } from '../../src/outbox/destination.ts'
import type { DestinationOptions, RelayOptions } from '../../src/outbox/options.ts'
import { createFaultDatabase } from '../support/faults/fault-database.ts'
import type { FaultDatabase } from '../support/faults/fault-database.ts'
import { accept, createFaultInbox } from '../support/faults/fault-inbox.ts'
import type { FaultInbox } from '../support/faults/fault-inbox.ts'
import { forSteps, fromPartner } from '../support/faults/fault-sources.ts'
import { WireProxy } from '../support/postgres/wire-proxy.ts'
import type { WireFault } from '../support/postgres/wire-proxy.ts'
import { makeLeasable } from '../support/lease-steps.ts'
import { openStoreOn } from '../support/postgres/open-postgres.ts'

const BEFORE_AND_AFTER = ['drop-before', 'drop-after'] as const
const SOON = { retry: { firstMs: 1, factor: 1 } }
const WRITE = 'insert into effects values ($1, $2)'

interface Scene {
  readonly database: FaultDatabase
  readonly proxy: WireProxy
  /** Its connections go through the proxy. Left to be started. */
  readonly worker: FaultInbox
  readonly sent: string[]
}

async function openScene(
  options: DestinationOptions = {},
  relay: RelayOptions = {},
): Promise<Scene> {
  const database = await createFaultDatabase('postgres')
  if (database.store.engine !== 'postgres') throw new Error('This is for PostgreSQL')
  const proxy = await WireProxy.start(database.store.connection)
  onTestFinished(() => proxy.close().catch(() => undefined))
  const sent: string[] = []
  const sink = destination('sink', { timeoutMs: 800, ...options }, ({ key }) => {
    sent.push(key)
  })
  const worker = createFaultInbox(database, {
    connection: proxy.config,
    // A lease is as long, and a busy machine must not let it end.
    worker: { concurrency: 1, deadAfterMs: 3_000 },
    destinations: [sink],
    relay,
  })
  return { database, proxy, worker, sent }
}

/** Another process has found out that the event is one for steps, so that it is leased by itself. */
async function acceptLeasable({ worker, database }: Scene, key: string): Promise<void> {
  if (database.store.engine !== 'postgres') throw new Error('This is for PostgreSQL')
  await accept(worker, forSteps({ key }))
  await makeLeasable(await openStoreOn(database.store.connection))
}

describe.each(BEFORE_AND_AFTER)('a connection to PostgreSQL that is lost (%s)', (fault) => {
  test.each([
    ['at the statement that leases', /lease_due/],
    ['at the read of what was leased', /as has_steps\s+from \S+queue q/],
  ])('%s: the event runs once, and has lost no attempt', async (_, matches) => {
    const scene = await openScene()
    const { database, proxy, worker } = scene
    const attempts: number[] = []
    worker.inbox.steps('partner', '*', SOON, async (event, step) => {
      attempts.push(step.attempt)
      await step.tx('write', async (tx) => {
        await tx.query(WRITE, [event.key, 'kept'])
      })
    })
    await acceptLeasable(scene, 'evt_1')
    const { fired } = proxy.arm({ matches, fault })

    await worker.inbox.start()
    await fired
    await worker.untilHappened('event.done', 'evt_1')

    expect(attempts).toEqual([1])
    expect(await database.countEffects('evt_1')).toBe(1)
    expect(await worker.getEvent('evt_1')).toMatchObject({ failures: [], outcome: { attempts: 1 } })
  })

  test('before a call, at the word that it is started: it is not made then, and once afterwards', async () => {
    const { proxy, worker } = await openScene()
    const made: number[] = []
    worker.inbox.steps('partner', '*', SOON, async (_event, step) => {
      await step.call('charge', () => {
        made.push(step.attempt)
      })
    })
    await worker.inbox.start()
    const { fired } = proxy.arm({ matches: /write_calls/, fault })

    await accept(worker, forSteps({ key: 'evt_1' }))
    await fired
    await worker.untilHappened('event.done', 'evt_1')

    expect(made).toEqual([2])
    const event = await worker.getEvent('evt_1')
    expect(event.failures).toMatchObject([{ attempt: 1, reason: 'connection' }])
  })

  test('after a call, at its result: the result is written again, and the call not made again', async () => {
    const { proxy, worker } = await openScene()
    let made = 0
    let fired: Promise<void> | undefined
    worker.inbox.steps('partner', '*', SOON, async (_event, step) => {
      await step.call('charge', () => {
        made += 1
        fired ??= proxy.arm({ matches: /write_calls/, fault }).fired
        return 'charged'
      })
    })
    await worker.inbox.start()

    await accept(worker, forSteps({ key: 'evt_1' }))
    const { eventId } = await worker.untilHappened('event.done', 'evt_1')

    await fired
    expect(made).toBe(1)
    expect(worker.count('lease.lost')).toBe(0)
    expect(await worker.getEvent('evt_1')).toMatchObject({ failures: [], outcome: { attempts: 1 } })
    expect(await worker.inbox.admin.listSteps(eventId)).toMatchObject([
      { state: 'done', starts: 1, result: '"charged"' },
    ])
  })

  test('at the COMMIT of a step: its effect happens once', async () => {
    const { database, proxy, worker } = await openScene()
    worker.inbox.steps('partner', '*', SOON, async (event, step) => {
      await step.tx('write', async (tx) => {
        await tx.query(WRITE, [event.key, 'kept'])
      })
    })
    await worker.inbox.start()
    const { fired } = proxy.arm({ matches: /finish_steps/, fault })

    await accept(worker, forSteps({ key: 'evt_1' }))
    await fired
    await worker.untilHappened('event.done', 'evt_1')

    expect(await database.countEffects('evt_1')).toBe(1)
  })

  test('when the event is settled: it is settled once, and no lease is called lost', async () => {
    const { proxy, worker } = await openScene()
    let ran = 0
    worker.inbox.steps('partner', '*', SOON, () => {
      ran += 1
    })
    await worker.inbox.start()
    const { fired } = proxy.arm({ matches: /settle_leased/, fault })

    const eventId = await accept(worker, forSteps({ key: 'evt_1' }))
    await fired
    await expect.poll(async () => (await worker.inbox.admin.findEvent(eventId))?.state).toBe('done')
    if (fault === 'drop-before') await worker.untilHappened('event.done', 'evt_1')
    // It was written by the first try, and the second one cannot know.
    else
      expect(await worker.untilHappened('worker.error')).toMatchObject({
        doing: 'settle a leased event',
        error: { code: 'COMMIT_UNKNOWN' },
      })

    expect(ran).toBe(1)
    expect(worker.count('lease.lost')).toBe(0)
  })

  test('when a message is settled: it is sent once', async () => {
    const { proxy, worker, sent } = await openScene()
    worker.inbox.steps('partner', '*', SOON, (_event, step) => step.send('sink', {}))
    await worker.inbox.start()
    const { fired } = proxy.arm({ matches: /settle_messages/, fault })

    await accept(worker, forSteps({ key: 'evt_1' }))
    await fired
    await expect
      .poll(async () => (await worker.inbox.admin.listMessages({ state: 'sent' })).messages)
      .toHaveLength(1)

    expect(sent).toHaveLength(1)
    expect(worker.count('message.lease-lost')).toBe(0)
  })
})

describe('a connection to PostgreSQL that is lost when a message is claimed', () => {
  async function loseClaim(fault: WireFault, options: DestinationOptions = {}): Promise<Scene> {
    // The next claim waits for as long.
    const scene = await openScene(options, { leaseMs: 1_200 })
    const { database, proxy, worker } = scene
    const writer = createFaultInbox(database, {
      worker: { concurrency: 1 },
      destinations: [destination('sink', () => undefined)],
    })
    writer.inbox.on('partner', '*', async (_event, { send }) => {
      await send('sink', {})
    })
    await writer.inbox.start()
    await accept(writer, fromPartner({ key: 'evt_1' }))
    await writer.untilHappened('event.done')
    const { fired } = proxy.arm({ matches: /claim_messages/, fault })
    await worker.inbox.start()
    await fired
    return scene
  }

  test.each([
    ['drop-before', 1],
    ['drop-after', 2],
  ] as const)('(%s): it is sent once, under a claim that was heard of', async (fault, attempt) => {
    const { worker, sent } = await loseClaim(fault)

    expect(await worker.untilHappened('message.sent')).toMatchObject({ attempt })

    expect(sent).toHaveLength(1)
    expect(worker.count('relay.error')).toBe(1)
  })

  // No other relay could have taken it meanwhile, and here it is known that it was sent.
  test('and again whenever it is settled, past the end of its lease: it is sent, and in no doubt', async () => {
    const { proxy, worker, sent } = await loseClaim('drop-before', { keys: 'ignored' })
    const cuts = Array.from({ length: 8 }, () =>
      proxy.arm({ matches: /settle_messages/, fault: 'drop-before' }),
    )

    await Promise.all(cuts.map(({ fired }) => fired))
    await worker.untilHappened('message.sent')

    expect(sent).toHaveLength(1)
    expect(worker.count('message.unknown')).toBe(0)
  })

  // Such a claim cannot be told from that of a relay that has sent the message and died.
  test('(drop-after), where keys are ignored: it is not sent, and a person decides', async () => {
    const { worker, sent } = await loseClaim('drop-after', { keys: 'ignored' })

    await worker.untilHappened('message.unknown')

    expect(sent).toEqual([])
  })
})
