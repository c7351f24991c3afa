import { describe, expect, test } from 'vitest'
import { destination, notSent } from '../../src/outbox/destination.ts'
import { httpDestination } from '../../src/outbox/http-destination.ts'
import type { HttpDestinationOptions } from '../../src/outbox/http-destination.ts'
import { CLIENTS, SENDERS } from '../support/egress/clients.ts'
import type { ClientName } from '../support/egress/clients.ts'
import type { Engine } from '../support/faults/fault-database.ts'
import { AT_ONCE, openOutbox } from '../support/faults/outbox-under-fault.ts'
import type { OutboxUnderFault } from '../support/faults/outbox-under-fault.ts'
import { atFirst, startSink } from '../support/sink.ts'
import type { Sink } from '../support/sink.ts'

const DAY_MS = 86_400_000

type Sender = (typeof SENDERS)[number]

function sinkThrough(name: ClientName) {
  const client = CLIENTS[name]
  return ({ url }: Sink, options: Partial<HttpDestinationOptions> = {}) =>
    httpDestination('sink', { url, allow: ['127.0.0.1'], retry: AT_ONCE, client, ...options })
}

/** An attempt that fails is not followed by another one before the relay is stopped. */
const MUCH_LATER = { ...AT_ONCE, firstMs: 3_600_000, maxMs: 3_600_000 }

/** A message whose first attempt has taken effect at the sink, without our hearing of it; no relay sends now. */
async function openInDoubt(
  { engine, client }: Sender,
  options: Partial<HttpDestinationOptions> = {},
) {
  const toSink = sinkThrough(client)
  const outbox = await openOutbox(engine)
  const sink = await startSink({
    keys: options.keys ?? 'honoured',
    answer: (_request, count) => (count === 1 ? 'cut' : { status: 200 }),
  })
  await outbox.write(1)
  const relay = await outbox.relay([toSink(sink, { ...options, retry: MUCH_LATER })])
  await relay.untilHappened('message.failed')
  await relay.inbox.stop()
  return { outbox, sink }
}

/** As if its next attempt were due. */
async function makeDue(engine: Engine, { database }: OutboxUnderFault): Promise<void> {
  await database.query(
    engine === 'postgres'
      ? 'update hookonce.message_queue set send_at = now()'
      : 'update hookonce_message_queue set send_at = 0',
  )
}

/** As if the message had been in doubt for a day longer. */
async function letADayPass(engine: Engine, outbox: OutboxUnderFault): Promise<void> {
  await outbox.database.query(
    engine === 'postgres'
      ? "update hookonce.message_queue set uncertain_since = uncertain_since - interval '1 day'"
      : `update hookonce_message_queue set uncertain_since = uncertain_since - ${DAY_MS}`,
  )
  await makeDue(engine, outbox)
}

describe.each(SENDERS)('a message that may have arrived, on $engine through $client', (sender) => {
  const { engine, client } = sender
  const toSink = sinkThrough(client)

  test('is sent again under the same key, and has one effect where keys are honoured', async () => {
    const { outbox, sink } = await openInDoubt(sender)
    await makeDue(engine, outbox)

    await outbox.relay([toSink(sink)])
    const [sent] = await outbox.untilIn('sent')

    expect(sent).toMatchObject({ attempts: 2, uncertainSince: undefined })
    expect(sink.list()).toHaveLength(2)
    expect([...sink.countEffects().entries()]).toEqual([[sent?.key, 1]])
    expect(new Set(sink.list().map(({ webhookId }) => webhookId)).size).toBe(1)
  })

  test.each([
    ['says that it failed though it did it', { status: 500 }],
    ['says that it is at it', { status: 409 }],
  ] as const)('to one that %s has one effect where keys are honoured', async (_what, answer) => {
    const outbox = await openOutbox(engine)
    const sink = await startSink({ answer: atFirst(answer) })
    await outbox.write(3)

    await outbox.relay([toSink(sink)])
    const sent = await outbox.untilIn('sent', 3)

    expect(sent.map(({ attempts }) => attempts)).toEqual([2, 2, 2])
    expect([...sink.countEffects().values()]).toEqual([1, 1, 1])
  })

  test('to one that hangs has one effect where keys are honoured', async () => {
    const outbox = await openOutbox(engine)
    const sink = await startSink({ answer: atFirst('hang') })
    await outbox.write(3)

    await outbox.relay([toSink(sink, { timeoutMs: 500 })])
    const sent = await outbox.untilIn('sent', 3)

    // More than two where the machine was so busy that an answer came too late.
    expect(sent.filter(({ attempts }) => attempts < 2)).toEqual([])
    expect([...sink.countEffects().values()]).toEqual([1, 1, 1])
  })

  test('to one that says that it took it is believed, whatever it did', async () => {
    const outbox = await openOutbox(engine)
    const sink = await startSink({ does: () => false })
    await outbox.write(1)

    await outbox.relay([toSink(sink)])
    await outbox.untilIn('sent')

    expect([...sink.countEffects().values()]).toEqual([0])
  })

  test('X05: is not sent again once the other side may have forgotten its key: a person decides', async () => {
    const options = { keyLifetimeMs: DAY_MS / 2 }
    const { outbox, sink } = await openInDoubt(sender, options)
    sink.forgetKeys()
    await letADayPass(engine, outbox)

    const relay = await outbox.relay([toSink(sink, options)])
    const [unknown] = await outbox.untilIn('unknown')

    expect(unknown?.reason).toContain(`remembers keys for ${DAY_MS / 2} ms only`)
    expect(unknown?.attempts).toBe(1)
    expect(unknown?.uncertainSince).toBeInstanceOf(Date)
    expect(sink.list()).toHaveLength(1)
    expect(relay.count('message.unknown')).toBe(1)

    await relay.inbox.admin.retryMessage(unknown!.id)
    await outbox.untilIn('sent')
    // The person was told; the key is still the same.
    expect([...sink.countEffects().values()]).toEqual([2])
  })

  test('X05: stays in doubt through attempts that were certainly not taken', async () => {
    const { outbox, sink } = await openInDoubt(sender)
    sink.answerWith(() => ({ status: 429 }))
    await makeDue(engine, outbox)
    const busy = await outbox.relay([toSink(sink, { retry: MUCH_LATER })])
    await busy.untilHappened('message.failed')
    await busy.inbox.stop()
    sink.answerWith(undefined)
    sink.forgetKeys()
    await letADayPass(engine, outbox)

    await outbox.relay([toSink(sink)])
    const [unknown] = await outbox.untilIn('unknown')

    expect(unknown?.attempts).toBe(2)
    expect(sink.list()).toHaveLength(2)
  })

  test('that was certainly not taken may be sent however late', async () => {
    const outbox = await openOutbox(engine)
    const sink = await startSink({ answer: () => ({ status: 429 }) })
    await outbox.write(1)
    const busy = await outbox.relay([toSink(sink, { retry: MUCH_LATER })])
    await busy.untilHappened('message.failed')
    await busy.inbox.stop()
    sink.answerWith(undefined)
    await letADayPass(engine, outbox)

    await outbox.relay([toSink(sink)])

    expect((await outbox.untilIn('sent'))[0]?.attempts).toBe(2)
  })
})

describe.each(SENDERS)('where keys are ignored, on $engine through $client', (sender) => {
  const { engine, client } = sender
  const toSink = sinkThrough(client)

  async function openIgnored(options: Partial<HttpDestinationOptions> = {}) {
    const outbox = await openOutbox(engine)
    const sink = await startSink({
      keys: 'ignored',
      answer: (_request, count) => (count === 1 ? 'cut' : { status: 200 }),
    })
    await outbox.write(1)
    const relay = await outbox.relay([toSink(sink, { keys: 'ignored', ...options })])
    return { outbox, sink, relay }
  }

  test("'ask' sends nothing twice: a person decides", async () => {
    const { outbox, sink, relay } = await openIgnored()
    const [unknown] = await outbox.untilIn('unknown')

    expect(unknown).toMatchObject({ attempts: 1, reason: expect.stringContaining('ignores keys') })
    expect(unknown?.failures).toHaveLength(1)
    expect(sink.list()).toHaveLength(1)

    await relay.inbox.admin.confirmMessage(unknown!.id)
    expect((await outbox.list('sent'))[0]?.id).toBe(unknown?.id)
    expect([...sink.countEffects().values()]).toEqual([1])
  })

  test("'check' looks, and sends nothing that arrived", async () => {
    const asked: string[] = []
    const { outbox, sink } = await openIgnored({
      onUncertain: 'check',
      check: async ({ key }, { idempotencyKey }) => {
        asked.push(key, idempotencyKey)
        return 'arrived'
      },
    })
    const [sent] = await outbox.untilIn('sent')

    expect(asked).toEqual([sent?.key, sent?.key])
    expect([...sink.countEffects().values()]).toEqual([1])
  })

  test("'check' looks again while it cannot tell, and sends what did not arrive", async () => {
    const said = ['unsure', 'throw', 'absent'] as const
    let looks = 0
    const { outbox, sink } = await openIgnored({
      onUncertain: 'check',
      check: async () => {
        const word = said[looks++] ?? 'absent'
        if (word === 'throw') throw new Error('no answer')
        return word
      },
    })
    const [sent] = await outbox.untilIn('sent')

    expect(looks).toBe(3)
    expect(sink.list()).toHaveLength(2)
    expect(sent?.failures.map(({ reason }) => reason)).toEqual(['interrupted', 'check', 'check'])
  })

  test("'resend' sends again, and says so", async () => {
    const { outbox, sink, relay } = await openIgnored({ onUncertain: 'resend' })
    await outbox.untilIn('sent')

    // The documented price: it happened twice.
    expect([...sink.countEffects().values()]).toEqual([2])
    expect(relay.count('message.resent')).toBe(1)
  })

  test('what was certainly not taken is sent again without asking', async () => {
    const outbox = await openOutbox(engine)
    const sent: string[] = []
    let isFull = true
    await outbox.write(1)

    await outbox.relay([
      destination('sink', { keys: 'ignored', retry: AT_ONCE }, ({ key }) => {
        if (isFull) {
          isFull = false
          throw notSent('the queue is full')
        }
        sent.push(key)
      }),
    ])
    const [message] = await outbox.untilIn('sent')

    expect(sent).toEqual([message?.key])
    expect(message?.attempts).toBe(2)
  })
})
