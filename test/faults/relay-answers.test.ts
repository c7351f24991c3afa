import { describe, expect, test } from 'vitest'
import { httpDestination } from '../../src/outbox/http-destination.ts'
import type { HttpDestinationOptions } from '../../src/outbox/http-destination.ts'
import { CLIENTS, SENDERS } from '../support/egress/clients.ts'
import type { ClientName } from '../support/egress/clients.ts'
import { AT_ONCE, openOutbox } from '../support/faults/outbox-under-fault.ts'
import { until } from '../support/faults/until.ts'
import { startSink } from '../support/sink.ts'
import type { Sink } from '../support/sink.ts'

function sinkThrough(name: ClientName) {
  const client = CLIENTS[name]
  return ({ url }: Sink, options: Partial<HttpDestinationOptions> = {}) =>
    httpDestination('sink', { url, allow: ['127.0.0.1'], retry: AT_ONCE, client, ...options })
}

describe.each(SENDERS)(
  'what a destination answers, on $engine through $client',
  ({ engine, client }) => {
    const toSink = sinkThrough(client)

    test('X06: a 500 that is stored for the key for ever ends as dead with a hint, under one key', async () => {
      const outbox = await openOutbox(engine)
      const sink = await startSink({
        storesAnswers: true,
        answer: (_request, count) => ({ status: count === 1 ? 500 : 200, body: 'stored' }),
      })
      await outbox.write(1)

      await outbox.relay([toSink(sink, { sameAnswersMax: 4, breakerFailures: 1_000 })])
      const [dead] = await outbox.untilIn('dead')
      await outbox.write(1)
      await outbox.untilIn('sent')

      expect(dead?.reason).toContain('the same answer 500 came 4 times')
      expect(dead?.attempts).toBe(4)
      expect(dead?.uncertainSince).toBeInstanceOf(Date)
      expect(sink.list().map(({ nth }) => nth)).toEqual([1, 2, 3, 4, 1])
      expect([...sink.countEffects().values()]).toEqual([1, 1])
    })

    test('a 500 that is another one each time is tried on', async () => {
      const outbox = await openOutbox(engine)
      const sink = await startSink({
        answer: (_request, count) =>
          count < 8 ? { status: 500, body: `try ${count}` } : { status: 200 },
      })
      await outbox.write(1)

      await outbox.relay([toSink(sink, { sameAnswersMax: 2, breakerFailures: 1_000 })])

      expect((await outbox.untilIn('sent'))[0]?.attempts).toBe(8)
    })

    test('X07: a 409 is tried again later, a 422 is dead', async () => {
      const outbox = await openOutbox(engine)
      const sink = await startSink({
        answer: ({ body }, count) => {
          if (body.includes('evt_sink_2')) return { status: 422, body: 'other body' }
          return { status: count === 1 ? 409 : 200 }
        },
      })
      await outbox.write(1)

      await outbox.relay([toSink(sink)])
      const [sent] = await outbox.untilIn('sent')
      await outbox.write(1)
      const [dead] = await outbox.untilIn('dead')

      expect(sent).toMatchObject({ attempts: 2 })
      expect(sent?.failures[0]?.message).toContain('409')
      expect(dead).toMatchObject({ attempts: 1 })
      expect(dead?.reason).toContain('422')
    })

    test.each([
      ['5', 5_000],
      ['Sun, 15 Nov 2026 12:00:30 GMT', 30_000],
      ['1000000000000', 3_600_000],
    ])(
      'X08: Retry-After: %s is waited for, by the clock of the database',
      async (value, waitMs) => {
        const outbox = await openOutbox(engine)
        const sink = await startSink({
          answer: () => ({
            status: 503,
            headers: { 'retry-after': value, date: 'Sun, 15 Nov 2026 12:00:00 GMT' },
          }),
        })
        await outbox.write(1)

        const relay = await outbox.relay([toSink(sink)])
        const failed = await relay.untilHappened('message.failed')

        expect(failed.retryInMs).toBe(waitMs)
        const [waiting] = await outbox.untilIn('ready')
        expect(waiting?.sendAt?.getTime()).toBeGreaterThan(
          waiting!.createdAt.getTime() + waitMs - 1,
        )
      },
    )

    test.each(['-1', 'soon', '', '0'])('X08: Retry-After: %j is not followed', async (value) => {
      const outbox = await openOutbox(engine)
      const sink = await startSink({
        answer: (_request, count) =>
          count === 1 ? { status: 503, headers: { 'retry-after': value } } : { status: 200 },
      })
      await outbox.write(1)

      const relay = await outbox.relay([toSink(sink)])
      await outbox.untilIn('sent')

      expect(await relay.untilHappened('message.failed')).toMatchObject({ retryInMs: 0 })
    })

    test.each([301, 302, 307, 308])(
      'X13: a %s is a failure and is not followed',
      async (status) => {
        const outbox = await openOutbox(engine)
        const elsewhere = await startSink()
        const sink = await startSink({
          answer: (_request, count) => ({
            status,
            headers: {
              location: count === 1 ? elsewhere.url : 'http://169.254.169.254/latest/meta-data/',
            },
          }),
        })
        await outbox.write(1)

        await outbox.relay([
          toSink(sink, {
            headers: { authorization: 'Bearer our credential' },
            retry: { ...AT_ONCE, attemptsMax: 2 },
          }),
        ])
        const [dead] = await outbox.untilIn('dead')

        expect(dead?.failures.map(({ message }) => message)).toEqual([
          `answered ${status}: a redirect is not followed`,
          `answered ${status}: a redirect is not followed`,
        ])
        expect(sink.list()).toHaveLength(2)
        expect(elsewhere.list()).toEqual([])
      },
    )

    test('X17: a 410 pauses the destination and keeps its messages, until an operator resumes it', async () => {
      const outbox = await openOutbox(engine)
      const sink = await startSink({ answer: () => ({ status: 410 }) })
      await outbox.write(3)

      const relay = await outbox.relay([toSink(sink, { concurrency: 1 })])
      expect(await relay.untilHappened('destination.paused')).toEqual({
        destination: 'sink',
        reason: 'it answered 410 Gone',
      })
      await outbox.untilIn('ready', 3)

      expect((await outbox.list('ready')).map(({ attempts }) => attempts)).toEqual([0, 0, 0])
      expect(await outbox.writer.inbox.admin.listPauses()).toMatchObject([
        { name: 'sink', reason: 'it answered 410 Gone' },
      ])
      sink.answerWith(undefined)
      await relay.inbox.admin.resume({ destination: 'sink' })
      await outbox.untilIn('sent', 3)
    })

    test.each([400, 404, 410, 429, 500, 503])(
      'a %s with `hookonce-retry: never` is dead at the first attempt, and the others go on',
      async (status) => {
        const outbox = await openOutbox(engine)
        const sink = await startSink({
          answer: (_request, count) =>
            count === 1 ? { status, headers: { 'hookonce-retry': 'Never' } } : { status: 200 },
        })
        await outbox.write(2)

        await outbox.relay([toSink(sink, { concurrency: 1 })])
        const [dead] = await outbox.untilIn('dead')
        await outbox.untilIn('sent')

        expect(dead).toMatchObject({
          attempts: 1,
          reason: `answered ${status} with hookonce-retry: never`,
        })
        expect(await outbox.writer.inbox.admin.listPauses()).toEqual([])
      },
    )

    test('a success is one, whatever `hookonce-retry` says; a word that is not known is not followed', async () => {
      const outbox = await openOutbox(engine)
      const sink = await startSink({
        answer: (_request, count) =>
          count === 1
            ? { status: 503, headers: { 'hookonce-retry': 'nevermore' } }
            : { status: 200, headers: { 'hookonce-retry': 'never' } },
      })
      await outbox.write(1)

      await outbox.relay([toSink(sink)])

      expect((await outbox.untilIn('sent'))[0]?.attempts).toBe(2)
    })

    test('every attempt says which one it is, under one webhook-id', async () => {
      const outbox = await openOutbox(engine)
      const sink = await startSink({
        answer: (_request, count) => ({ status: count < 3 ? 503 : 200 }),
      })
      await outbox.write(1)

      await outbox.relay([toSink(sink)])
      await outbox.untilIn('sent')

      expect(sink.list().map(({ headers }) => headers['hookonce-attempt'])).toEqual(['1', '2', '3'])
      expect(new Set(sink.list().map(({ webhookId }) => webhookId)).size).toBe(1)
    })

    test('the answer is kept as it came, without credentials, and no more of it than 64 KiB', async () => {
      const outbox = await openOutbox(engine)
      const secret = 'whsec_c2l4dGVlbiBieXRlcyBvZiBrZXk='
      const sink = await startSink({
        answer: ({ headers }) => ({
          status: 200,
          headers: { 'content-encoding': 'br', 'set-cookie': 'session=1', 'x-echo': secret },
          body: `${String(headers.authorization)} ${secret} ${'x'.repeat(100_000)}`,
        }),
      })
      await outbox.write(1)

      await outbox.relay([
        toSink(sink, { secrets: [secret], headers: { authorization: 'Bearer our credential' } }),
      ])
      const [sent] = await outbox.untilIn('sent')

      const { status, head, body } = sent!.outcome!.response!
      const text = Buffer.from(body).toString()
      expect(status).toBe(200)
      expect(head).toContain('content-encoding: br')
      expect(head).toContain('set-cookie: [redacted]')
      expect(head).toContain('x-echo: [redacted]')
      expect(text.startsWith('[redacted] [redacted] xxx')).toBe(true)
      expect(body.byteLength).toBeLessThanOrEqual(65_536)
    })

    test('X16: a destination that hangs holds up no other', async () => {
      const outbox = await openOutbox(engine)
      const hanging = await startSink({ answer: () => 'hang' })
      const fine = await startSink()
      await outbox.write(50)
      await outbox.write(20, 'other')

      const relay = await outbox.relay([
        // What hangs does not end by itself, while a busy machine sends the others.
        toSink(hanging, { concurrency: 5, timeoutMs: 50_000, idleTimeoutMs: 45_000 }),
        httpDestination('other', { url: fine.url, allow: ['127.0.0.1'] }),
      ])
      await outbox.untilIn('sent', 20)

      // None of the others' attempts has even ended.
      expect(relay.count('message.failed')).toBe(0)
      expect(fine.list()).toHaveLength(20)
      expect(hanging.list().length).toBeLessThanOrEqual(5)
      hanging.answerWith(undefined)
      await hanging.close().catch(() => undefined)
    })

    test('a destination that does not answer is left alone by the breaker, and tried again with one', async () => {
      const outbox = await openOutbox(engine)
      const sink = await startSink({ answer: () => ({ status: 502 }) })
      await outbox.write(30)

      const relay = await outbox.relay([
        toSink(sink, { concurrency: 3, breakerFailures: 3, breakerMs: 300 }),
      ])
      await relay.untilHappened('destination.held')
      await until('it has been opened again', () => relay.count('destination.held') >= 3)
      // Three that opened it, those on their way meanwhile, and one for each time after.
      expect(sink.list().length).toBeLessThanOrEqual(3 + 2 + relay.count('destination.held'))

      sink.answerWith(undefined)
      await outbox.untilIn('sent', 30)
      expect([...sink.countEffects().values()].every((count) => count === 1)).toBe(true)
    })
  },
)
