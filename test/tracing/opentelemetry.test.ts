import * as api from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { W3CTraceContextPropagator } from '@opentelemetry/core'
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base'
import type { ReadableSpan } from '@opentelemetry/sdk-trace-base'
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { createInbox, destination, permanent } from '../../src/index.ts'
import type { Message } from '../../src/index.ts'
import { stripe } from '../../src/providers/index.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import { sign } from '../../src/testing/index.ts'
import { openTelemetry } from '../../src/tracing/opentelemetry.ts'
import { createSqlite } from '../support/sqlite-database.ts'
import { DEFAULT_DRIVER } from '../support/sqlite-under-test.ts'

const SECRET = 'whsec_test_secret_of_some_length'
const drop = () => undefined
const exporter = new InMemorySpanExporter()

beforeAll(() => {
  const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] })
  api.trace.setGlobalTracerProvider(provider)
  api.context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  api.propagation.setGlobalPropagator(new W3CTraceContextPropagator())
})
afterAll(() => {
  api.trace.disable()
  api.context.disable()
  api.propagation.disable()
})
beforeEach(() => exporter.reset())

/** The only span of that name that has ended. */
async function untilSpan(name: string): Promise<ReadableSpan> {
  const find = () => exporter.getFinishedSpans().filter((span) => span.name === name)
  await expect.poll(find).toHaveLength(1)
  return find()[0] as ReadableSpan
}

async function makeInbox() {
  const { file, close } = await createSqlite({ driver: DEFAULT_DRIVER })
  onTestFinished(close)
  const sent: Message[] = []
  const app = destination('app', async (message) => {
    sent.push(message)
  })
  const inbox = createInbox({
    store: sqliteStore(file),
    sources: { stripe: stripe({ secrets: [SECRET] }) },
    destinations: [app],
    tracing: openTelemetry(api),
    logger: { debug: drop, info: drop, warn: drop, error: drop },
  })
  const deliver = (key: string) =>
    inbox.receive('stripe', sign('stripe', { key, type: 'invoice.paid' }, { secret: SECRET }))
  return { inbox, deliver, sent }
}

describe('spans of OpenTelemetry', () => {
  test('a handler is linked to the delivery, and a message to the handler that wrote it', async () => {
    const { inbox, deliver, sent } = await makeInbox()
    await using _stop = { [Symbol.asyncDispose]: () => inbox.stop() }
    inbox.on('stripe', 'invoice.paid', { name: 'book' }, async (_event, { send }) => {
      // What the user's own libraries trace is a child of the handler's span.
      api.trace.getTracer('app').startSpan('update invoices').end()
      await send('app', { booked: true })
    })
    await inbox.start()

    const { eventId } = await deliver('evt_1')

    const received = await untilSpan('receive stripe')
    const processed = await untilSpan('process stripe')
    const sending = await untilSpan('send app')
    const update = await untilSpan('update invoices')
    expect(received.attributes).toMatchObject({
      'hookonce.outcome': 'accepted',
      'messaging.message.id': eventId,
    })
    expect(processed.attributes).toMatchObject({
      'hookonce.handler': 'book',
      'hookonce.event.type': 'invoice.paid',
      'messaging.message.id': eventId,
    })
    expect(processed.links.map(({ context }) => context.spanId)).toEqual([
      received.spanContext().spanId,
    ])
    expect(processed.spanContext().traceId).not.toBe(received.spanContext().traceId)
    expect(update.parentSpanContext?.spanId).toBe(processed.spanContext().spanId)
    expect(sending.links.map(({ context }) => context.spanId)).toEqual([
      processed.spanContext().spanId,
    ])
    // The other side goes on with the trace of the attempt.
    const { traceId, spanId } = sending.spanContext()
    expect(sent[0]?.headers['traceparent']).toBe(`00-${traceId}-${spanId}-01`)
  })

  test('what a handler throws is the end of its span, without secrets', async () => {
    const { inbox, deliver } = await makeInbox()
    await using _stop = { [Symbol.asyncDispose]: () => inbox.stop() }
    inbox.on('stripe', '*', () => {
      throw permanent('declined: password=hunter2hunter2')
    })
    await inbox.start()

    await deliver('evt_1')

    const processed = await untilSpan('process stripe')
    expect(processed.status.code).toBe(api.SpanStatusCode.ERROR)
    expect(processed.events.map(({ name }) => name)).toEqual(['exception'])
    expect(JSON.stringify([processed.status, processed.events])).toContain('declined')
    expect(JSON.stringify([processed.status, processed.events])).not.toContain('hunter2')
  })

  test('a delivery that is refused says so, and what has no source makes no span', async () => {
    const { inbox } = await makeInbox()
    await using _stop = { [Symbol.asyncDispose]: () => inbox.stop() }
    const delivery = {
      method: 'POST',
      url: '/',
      headers: {},
      body: Buffer.from('{}'),
      receivedAt: new Date(),
    }

    await inbox.receive('stripe', delivery)
    await inbox.receive('nothing-of-ours', delivery)

    const refused = await untilSpan('receive stripe')
    expect(refused.attributes['hookonce.outcome']).toBe('refused')
    expect(exporter.getFinishedSpans()).toHaveLength(1)
  })

  test('what cannot trace is refused', () => {
    expect(() =>
      createInbox({
        store: sqliteStore('never-opened.db'),
        sources: { stripe: stripe({ secrets: [SECRET] }) },
        tracing: api as never,
      }),
    ).toThrow('createInbox.tracing must be what openTelemetry(api) returns')
  })
})
