import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { configSchema } from '../../src/gateway/config/schema.ts'
import { startGateway } from '../../src/gateway/gateway.ts'
import type { Gateway } from '../../src/gateway/gateway.ts'
import { consoleLogger } from '../../src/index.ts'
import { sign } from '../../src/testing/index.ts'
import type { SignedEvent } from '../../src/testing/index.ts'
import { until } from '../support/faults/until.ts'
import { startSink } from '../support/sink.ts'
import type { Sink, SinkRequest } from '../support/sink.ts'

const SECRET = 'whsec_0123456789abcdef'
const SIGNING = 'a secret of the service behind it'
/** 32 bytes, whether it is read as hex, as base64 or as a text. */
const ENOUGH = '0123456789abcdef'.repeat(4)
/** A sender of a person's own, which signs its body. */
const OWN = {
  header: 'x-signature',
  algorithm: 'sha256',
  encoding: 'hex',
  key: 'json:$.id',
  type: 'json:$.type',
}
const QUIET = { ...consoleLogger(), debug() {}, info() {}, warn() {}, error() {} }

describe('a gateway', () => {
  test('forwards the bytes and headers of the sender, once for ten deliveries, signed by us', async () => {
    const sink = await startSink()
    const { deliver } = await start({ sink })

    const answers = await Promise.all(
      Array.from({ length: 10 }, () => deliver({ key: 'evt_1', headers: { 'x-trace': 'abc' } })),
    )
    await sink.untilRequests(1)

    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 10 }, () => 200))
    const [request, ...others] = sink.list()
    expect(others).toEqual([])
    expect(request?.body).toBe(answers[0]?.sent)
    expect(request?.headers).toMatchObject({
      'content-type': 'application/json',
      'x-trace': 'abc',
      'stripe-signature': expect.stringContaining('v1=') as string,
      'hookonce-source': 'stripe',
      'hookonce-event-type': 'invoice.paid',
      'webhook-id': expect.stringMatching(/^msg_/) as string,
      'webhook-signature': expect.stringMatching(/^v1,/) as string,
    })
    expect(request?.headers.host).toBe(`127.0.0.1:${sink.port}`)
  })

  test('keeps what the sender calls by our names under others', async () => {
    const sink = await startSink()
    const { deliver } = await start({ sink })

    await deliver({ headers: { 'webhook-id': 'theirs', 'idempotency-key': 'theirs' } })
    await sink.untilRequests(1)

    const { headers } = sink.list()[0]!
    expect(headers['original-webhook-id']).toBe('theirs')
    expect(headers['webhook-id']).not.toBe('theirs')
    expect(headers['original-idempotency-key']).toBe('theirs')
  })

  test('leaves the longest headers behind where there are too many, and names them', async () => {
    const sink = await startSink()
    const { deliver } = await start({ sink })

    await deliver({ headers: { 'x-long': 'x'.repeat(7_000), 'x-short': 'kept' } })
    await sink.untilRequests(1)

    const { headers } = sink.list()[0]!
    expect(headers).toMatchObject({ 'x-short': 'kept', 'hookonce-left-out': 'x-long' })
    expect(headers).not.toHaveProperty('x-long')
  })

  test('forwards to each destination what it wants, and nothing twice', async () => {
    const [all, paid, large, changed] = [
      await startSink(),
      await startSink(),
      await startSink(),
      await startSink(),
    ]
    const { deliver } = await start({
      sinks: { all, paid, large, changed },
      forward: [
        'all',
        { to: 'paid', types: ['invoice.*'] },
        { to: 'large', where: [{ path: '$.data.object.size', equals: 'L' }] },
        {
          to: 'changed',
          transform: ({ type, key }: { type: string; key: string }) =>
            type === 'invoice.paid' ? { body: { key }, headers: { 'X-Made': 'yes' } } : null,
        },
      ],
    })

    await deliver({ key: 'evt_1', type: 'invoice.paid', body: { data: { object: { size: 'S' } } } })
    await deliver({
      key: 'evt_2',
      type: 'charge.failed',
      body: { data: { object: { size: 'L' } } },
    })
    await all.untilRequests(2)
    await Promise.all([paid, large, changed].map((sink) => sink.untilRequests(1)))

    expect(idsOf(all)).toEqual(['evt_1', 'evt_2'])
    expect(idsOf(paid)).toEqual(['evt_1'])
    expect(idsOf(large)).toEqual(['evt_2'])
    expect(changed.list().map(({ body }) => body)).toEqual(['{"key":"evt_1"}'])
    expect(changed.list()[0]?.headers).toMatchObject({
      'x-made': 'yes',
      'content-type': 'application/json',
    })
  })

  test('takes over another config without dropping a request, and none that needs a new process', async () => {
    const [first, second] = [await startSink(), await startSink()]
    const sinks = { first, second }
    const { gateway, deliver, configWith } = await start({ sinks, forward: ['first'] })
    const sent: Promise<{ status: number }>[] = []
    let isOver = false
    const load = (async () => {
      while (!isOver) {
        const one = deliver({})
        sent.push(one)
        await one
      }
    })()
    await first.untilRequests(3)

    const moved = await gateway.reload(configWith({ forward: ['second'] }))
    const elsewhere = await gateway.reload(configWith({ store: 'sqlite:other.db' }))
    await second.untilRequests(3)
    isOver = true
    await load

    expect(moved).toEqual({ status: 'reloaded' })
    expect(elsewhere).toEqual({
      status: 'refused',
      reason: 'store cannot be changed while it runs',
    })
    const answers = await Promise.all(sent)
    expect(answers.filter(({ status }) => status !== 200)).toEqual([])
    await first.untilRequests(1)
    await expect.poll(() => new Set([...idsOf(first), ...idsOf(second)]).size).toBe(answers.length)
  })

  test('keeps its config when another one cannot be used', async () => {
    const sink = await startSink()
    const { gateway, deliver, configWith } = await start({ sink })

    const reloaded = await gateway.reload(configWith({ provider: 'stirpe' }))

    expect(reloaded).toMatchObject({
      status: 'refused',
      reason: expect.stringContaining('did you mean "stripe"?') as string,
    })
    expect(await deliver({})).toMatchObject({ status: 200 })
    await sink.untilRequests(1)
  })

  test('R32: does not start with a secret that can be guessed', async () => {
    await expect(start({ secrets: ['short'] })).rejects.toThrow(
      'sources.stripe: secrets[0] is shorter than 16 bytes',
    )
  })

  test.each([
    ['base64 of 8 bytes', 'standard_webhooks', {}, `whsec_${bytes(8).toString('base64')}`],
    ['base64 of 15 bytes', 'standard_webhooks', {}, `whsec_${bytes(15).toString('base64')}`],
    ['a signing token of 8 bytes', 'gitlab', {}, `whsec_${bytes(8).toString('base64')}`],
    ['16 digits of hex', 'hmac', { ...OWN, secretEncoding: 'hex' }, bytes(8).toString('hex')],
    ['base64 of 12', 'hmac', { ...OWN, secretEncoding: 'base64' }, bytes(12).toString('base64')],
  ])('R32: measures the key and not its text: %s for %s', async (_, provider, options, secret) => {
    await expect(start({ provider, options, secrets: [ENOUGH, secret] })).rejects.toThrow(
      'sources.stripe: secret 2 is a key of fewer than 16 bytes when it is decoded',
    )
  })

  test('R32: takes a key of 16 bytes, however long its text is', async () => {
    const hex = { ...OWN, secretEncoding: 'hex' }
    const { gateway } = await start({
      provider: 'hmac',
      options: hex,
      secrets: [bytes(16).toString('hex')],
    })
    expect(gateway.address).toBeDefined()
  })

  test('signs nothing only where the config says unsigned', async () => {
    const sink = await startSink()
    await expect(start({ sink, signing: {} })).rejects.toThrow(
      'destinations.app.secrets: there are none',
    )

    const { deliver } = await start({ sink, signing: { unsigned: true } })
    await deliver({ key: 'evt_1' })
    await sink.untilRequests(1)

    const [{ headers }] = sink.list() as [SinkRequest]
    expect(headers).toHaveProperty('webhook-id')
    expect(headers).toHaveProperty('webhook-timestamp')
    expect(headers).not.toHaveProperty('webhook-signature')
  })

  test('sends nothing in a process that only receives, and a second one does', async () => {
    const sink = await startSink()
    const folder = aFolder()
    const receiver = await start({ sink, folder, roles: ['receive'] })
    await receiver.deliver({ key: 'evt_1' })
    expect(sink.list()).toEqual([])

    const worker = await start({ sink, folder, roles: ['work', 'relay'] })
    await sink.untilRequests(1)

    expect(worker.gateway.address).toBeUndefined()
    expect(idsOf(sink)).toEqual(['evt_1'])
  })
})

interface Given {
  readonly sink?: Sink
  readonly sinks?: Readonly<Record<string, Sink>>
  readonly forward?: readonly unknown[]
  readonly secrets?: readonly string[]
  readonly provider?: string
  readonly options?: object
  /** How what is forwarded is signed. */
  readonly signing?: object
  readonly store?: string
  readonly folder?: string
  readonly roles?: readonly string[]
}

test('what a gateway has no destination for waits as unhandled, also where it forwards nothing at all', async () => {
  const { gateway, deliver } = await start({ forward: [] })

  const { status } = await deliver({ key: 'evt_1', type: 'invoice.paid' })

  expect(status).toBe(200)
  await until('it is parked', async () => {
    const { events } = await gateway.inbox.admin.list({ state: 'unhandled' })
    return events.length === 1
  })
})

async function start(given: Given = {}) {
  const folder = given.folder ?? aFolder()
  const configWith = (changes: Given) => {
    const {
      sink,
      sinks = sink && { app: sink },
      forward,
      secrets,
      provider,
      options,
      signing = { secrets: [SIGNING] },
      store,
      roles,
    } = {
      ...given,
      ...changes,
    }
    return configSchema.parse({
      receive: { port: 0 },
      admin: { port: 0 },
      store: store ?? 'sqlite:hookonce.db',
      ...(roles && { roles }),
      sources: {
        stripe: {
          provider: provider ?? 'stripe',
          secrets: secrets ?? [SECRET],
          ...options,
          forward: forward ?? Object.keys(sinks ?? {}),
        },
      },
      destinations: Object.fromEntries(
        Object.entries(sinks ?? {}).map(([name, { url }]) => [
          name,
          { url, allowPrivate: true, ...signing },
        ]),
      ),
    })
  }
  const gateway = await startGateway({ config: configWith({}), folder, logger: QUIET })
  onTestFinished(() => gateway.stop())
  await gateway.untilStarted()
  return { gateway, configWith, deliver: (event: SignedEvent) => deliverTo(gateway, event) }
}

async function deliverTo(gateway: Gateway, event: SignedEvent) {
  const { headers, body } = sign('stripe', event, { secret: SECRET })
  const { port } = gateway.address!
  const { status } = await fetch(`http://127.0.0.1:${port}/in/stripe`, {
    method: 'POST',
    headers: headers as Record<string, string>,
    body: new Uint8Array(body),
  })
  return { status, sent: Buffer.from(body).toString() }
}

function bytes(count: number): Buffer {
  return Buffer.alloc(count, 'key')
}

function idsOf(sink: Sink): readonly string[] {
  return sink
    .list()
    .map(({ body }) => (JSON.parse(body) as { id: string }).id)
    .toSorted()
}

function aFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'hookonce-gateway-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}
