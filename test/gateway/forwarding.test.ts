import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import http from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { configSchema } from '../../src/gateway/config/schema.ts'
import { startGateway } from '../../src/gateway/gateway.ts'
import { consoleLogger } from '../../src/index.ts'
import type { WebhookEvent } from '../../src/index.ts'
import { startSink } from '../support/sink.ts'

const QUIET = { ...consoleLogger(), debug() {}, info() {}, warn() {}, error() {} }

describe('forwarded headers', () => {
  test('are without those that the sender named as belonging to its connection', async () => {
    const { sink, deliver } = await start()

    await deliver('e1', '{}', {
      connection: 'close, X-Hop ,x-other-hop',
      'x-hop': 'one',
      'X-Other-Hop': 'two',
      'http2-settings': 'AAMAAABk',
      'x-kept': 'three',
    })
    await sink.untilRequests(1)

    const { headers } = sink.list()[0]!
    expect(headers).toMatchObject({ 'x-kept': 'three' })
    for (const name of ['x-hop', 'x-other-hop', 'http2-settings'])
      expect(headers).not.toHaveProperty(name)
  })

  test('say by what the sender called an event, and not by what it said that it did', async () => {
    const { sink, deliver } = await start()

    await deliver('e1', '{}', { 'webhook-id': 'theirs', 'original-webhook-id': 'made up' })
    await deliver('e2', '{}', { 'original-webhook-id': 'made up' })
    await sink.untilRequests(2)

    const originals = sink
      .list()
      .map(({ headers }) => [headers['x-id'], headers['original-webhook-id']])
    expect(Object.fromEntries(originals)).toEqual({ e1: 'theirs', e2: undefined })
  })

  test('are whatever they are called, also as something that every object has', async () => {
    const { gateway, sink, deliver } = await start()

    await deliver('e1', '{}', {
      ['constructor' as string]: 'a',
      hasownproperty: 'b',
    })
    await sink.untilRequests(1)

    const { admin } = gateway.inbox
    const [message] = (await admin.listMessages()).messages
    expect(Object.entries(message!.headers)).toEqual(
      expect.arrayContaining([
        ['constructor', 'a'],
        ['hasownproperty', 'b'],
      ]),
    )
  })

  test('are without one whose name is too long, and the event is not held up', async () => {
    const { sink, deliver } = await start()
    const long = `x-${'long-'.repeat(40)}`

    await deliver('e1', '{}', { [long]: 'value', 'x-kept': 'kept' })
    await sink.untilRequests(1)

    const { headers } = sink.list()[0]!
    expect(headers).not.toHaveProperty(long)
    expect(headers).toMatchObject({ 'x-kept': 'kept', 'hookonce-left-out': long })
  })
})

describe('a body that is neither JSON nor a form', () => {
  test('is forwarded where no value is asked for, in no lane, and nowhere else', async () => {
    const other = await startSink()
    const { sink, deliver } = await start({
      forward: [
        { to: 'app', lane: 'json:$.customer' },
        { to: 'other', where: [{ path: '$.live', equals: true }] },
      ],
      others: { other },
    })

    await deliver('e1', '<event live="true"/>', { 'content-type': 'application/xml' })
    await deliver('e2', '{"live":true}')
    await Promise.all([sink.untilRequests(2), other.untilRequests(1)])

    expect(
      sink
        .list()
        .map(({ body }) => body)
        .toSorted(),
    ).toEqual(['<event live="true"/>', '{"live":true}'])
    expect(other.list().map(({ body }) => body)).toEqual(['{"live":true}'])
  })
})

describe('a transform', () => {
  test.each([
    ['nothing', () => undefined, 'has returned nothing. It must return { body, headers }, or null'],
    ['a text', () => 'text', 'has returned a string. It must'],
    ['no body', () => ({ headers: {} }), 'has returned no body. It must'],
    ['another name', () => ({ bdy: 1 }), 'unknown option "bdy", did you mean "body"?'],
    ['a promise', async () => ({ body: 1 }), 'has returned a promise, and must not be async'],
  ])('that returns %s fails its event, and says why', async (_what, transform, message) => {
    const { gateway, failures, deliver } = await start({ forward: [{ to: 'app', transform }] })

    await deliver('e1', '{}')
    const [error] = await failures(1)

    expect(error?.message).toContain('sources.in.forward[0].transform')
    expect(error?.message).toContain(message)
    expect((await gateway.inbox.admin.listMessages({ state: 'ready' })).messages).toEqual([])
  })

  test('that is async and throws does not end the process', async () => {
    const rejections: unknown[] = []
    const note = (reason: unknown): void => void rejections.push(reason)
    process.on('unhandledRejection', note)
    onTestFinished(() => void process.off('unhandledRejection', note))
    const transform = async (): Promise<never> => {
      throw new Error('no such customer')
    }
    const { failures, deliver } = await start({ forward: [{ to: 'app', transform }] })

    await deliver('e1', '{}')
    await failures(1)
    // Rejections are told when all that waited for a turn has had one.
    await new Promise((resolve) => setImmediate(resolve))

    expect(rejections).toEqual([])
  })
})

describe('the handler that forwards', () => {
  test('has what the config says of handlers', async () => {
    const transform = (): never => {
      throw new Error('no such customer')
    }
    const settings = { handlerDefaults: { retry: { attemptsMax: 1 } } }
    const { gateway, deliver } = await start({ forward: [{ to: 'app', transform }], settings })

    await deliver('e1', '{}')

    await expect.poll(async () => (await gateway.inbox.admin.listDead()).length).toBe(1)
  })

  test('writes in order for destinations whose lanes are named by different values', async () => {
    const other = await startSink()
    const { sink, deliver } = await start({
      forward: [
        { to: 'app', lane: 'json:$.customer' },
        { to: 'other', lane: 'json:$.account' },
      ],
      others: { other },
    })
    const bodies = Array.from({ length: 40 }, (_none, n) =>
      JSON.stringify({ n, customer: `c${n % 3}`, account: `a${n % 2}` }),
    )

    for (const [n, body] of bodies.entries()) await deliver(`e${n}`, body)
    await Promise.all([sink.untilRequests(40), other.untilRequests(40)])

    expect(byValue(sink.list(), 'customer')).toEqual({
      c0: upTo(40, 3, 0),
      c1: upTo(40, 3, 1),
      c2: upTo(40, 3, 2),
    })
    expect(byValue(other.list(), 'account')).toEqual({ a0: upTo(40, 2, 0), a1: upTo(40, 2, 1) })
  })

  test.each([
    ['the same value', 'json:$.customer', 'c1'],
    ['different values', 'json:$.account', 'c1'],
    ['different values, of which it has another', 'json:$.account', undefined],
  ])('holds up what is in a lane behind one that fails, by %s', async (_what, lane, customer) => {
    const { sink, deliver, failures } = await start({
      forward: [
        { to: 'app', lane: 'json:$.customer', types: ['in.lane'], transform: failsWhereAsked },
        { to: 'app', lane, types: ['in.lane'], where: [{ path: '$.twice', equals: true }] },
        { to: 'app', types: ['apart'] },
      ],
    })

    await deliver('e1', '{"type":"in.lane","customer":"c1","account":"a1","fails":true}')
    await failures(1)
    await deliver('e2', JSON.stringify({ type: 'in.lane', customer, account: 'a1', twice: true }))
    await deliver('e3', '{"type":"apart","customer":"c1","account":"a1"}')
    await deliver('e4', '{"type":"in.lane"}')
    await sink.untilRequests(2)

    const sent = sink.list().map(({ headers }) => headers['x-id'])
    expect(sent.toSorted()).toEqual(['e3', 'e4'])
  })
})

function failsWhereAsked(event: WebhookEvent): { readonly body: unknown } {
  if ((event.payload as { readonly fails?: boolean }).fails === true) throw new Error('as asked')
  return { body: event.payload }
}

const upTo = (end: number, step: number, first: number): readonly number[] =>
  Array.from({ length: end }, (_none, n) => n).filter((n) => n % step === first)

/** The numbers that came, in their order, by one value of the payload. */
function byValue(requests: readonly { readonly body: string }[], key: string): object {
  const numbers: Record<string, number[]> = {}
  for (const { body } of requests) {
    const payload = JSON.parse(body) as Record<string, string> & { readonly n: number }
    ;(numbers[payload[key]!] ??= []).push(payload.n)
  }
  return numbers
}

interface Given {
  readonly forward?: readonly unknown[]
  readonly others?: Readonly<Record<string, { readonly url: string }>>
  readonly settings?: object
}

/** A gateway with one source that verifies nothing, so that a test says each header of a delivery. */
async function start({ forward = ['app'], others = {}, settings = {} }: Given = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'hookonce-forwarding-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const sink = await startSink()
  const config = configSchema.parse({
    receive: { port: 0 },
    admin: { port: 0 },
    store: 'sqlite:hookonce.db',
    ...settings,
    sources: {
      in: {
        provider: 'unsigned',
        verify: 'none',
        key: 'header:x-id',
        type: 'json:$.type',
        forward,
      },
    },
    destinations: Object.fromEntries(
      Object.entries({ app: sink, ...others }).map(([name, { url }]) => [
        name,
        { url, allowPrivate: true, unsigned: true },
      ]),
    ),
  })
  const gateway = await startGateway({ config, folder, logger: QUIET })
  onTestFinished(() => gateway.stop())
  const errors: Error[] = []
  let told = (): void => undefined
  gateway.inbox.events.on('event.failed', ({ error }) => {
    errors.push(error)
    told()
  })
  await gateway.untilStarted()
  const failures = async (count: number): Promise<readonly Error[]> => {
    while (errors.length < count) await new Promise<void>((resolve) => (told = resolve))
    return errors
  }
  return {
    gateway,
    sink,
    failures,
    deliver: (id: string, body: string, headers: http.OutgoingHttpHeaders = {}) =>
      post(gateway.address!.port, body, {
        'content-type': 'application/json',
        'x-id': id,
        ...headers,
      }),
  }
}

/** Not `fetch`, which has headers of the connection for itself. */
async function post(port: number, body: string, headers: http.OutgoingHttpHeaders): Promise<void> {
  const request = http.request({ port, path: '/in/in', method: 'POST', headers })
  request.end(body)
  const [answer] = (await once(request, 'response')) as [http.IncomingMessage]
  answer.resume()
  expect(answer.statusCode).toBe(200)
}
