import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { hmac, stripe } from '../../src/providers/index.ts'
import { startCli } from '../support/run-cli.ts'
import { startSink } from '../support/sink.ts'

const SECRET = 'whsec_0123456789abcdef'

describe('hookonce trigger', () => {
  test('sends one event ten times at once, of which a gateway makes one run', async () => {
    const sink = await startSink()
    const { folder, port } = await startGateway(sink.url)

    const { output } = await run(folder, port, [
      'stripe',
      'invoice.paid',
      '--times',
      '10',
      '--parallel',
    ])

    expect(output.split('\n')).toContain('10 deliveries, 1 event, handler ran 1 time')
    await sink.untilRequests(1)
    expect(sink.list()).toHaveLength(1)
  })

  test('changes the payload and the id as it is told to', async () => {
    const sink = await startSink()
    const { folder, port } = await startGateway(sink.url)
    const set = ['--set', '$.data.object.amount=100', '--set', '$.data.object.note=hello there']

    await run(folder, port, ['stripe', 'invoice.paid', '--id', 'evt_mine', ...set])
    await sink.untilRequests(1)

    expect(JSON.parse(sink.list()[0]!.body)).toMatchObject({
      id: 'evt_mine',
      type: 'invoice.paid',
      data: { object: { amount: 100, note: 'hello there' } },
    })
  })

  test.each([['--bad-signature'], ['--old']])('%s is refused, and fails', async (flag) => {
    const { folder, port } = await startGateway('https://example.com/')

    const { code, output } = await run(folder, port, ['stripe', 'invoice.paid', flag])

    expect(code).toBe(1)
    expect(output).toContain('1 delivery')
    expect(output).not.toContain('event ')
  })

  test('signs for an endpoint of any kind, by a provider and a secret', async () => {
    const folder = aFolder({})
    const received = await listen()

    const { code, output } = await run(folder, 0, [
      'stripe',
      'charge.failed',
      '--secret',
      SECRET,
      '--to',
      received.url,
    ])

    expect(code).toBe(0)
    expect(output).toContain('1 delivery')
    const [delivery] = received.deliveries
    const { ok } = await stripe({ secrets: [SECRET] }).verify(delivery!)
    expect(ok).toBe(true)
  })

  test('signs as a source of one’s own', async () => {
    const partner = {
      provider: 'hmac',
      header: 'x-signature',
      algorithm: 'sha256',
      encoding: 'hex',
      key: 'json:$.id',
      type: 'json:$.kind',
      secrets: ['0123456789abcdef'],
    } as const
    const folder = aFolder({ sources: { partner } })
    const received = await listen()

    await run(folder, 0, ['partner', 'order.made', '--to', received.url])

    const { provider: _name, ...options } = partner
    const { ok } = await hmac(options).verify(received.deliveries[0]!)
    expect(ok).toBe(true)
    expect(JSON.parse(Buffer.from(received.deliveries[0]!.body).toString())).toMatchObject({
      kind: 'order.made',
    })
  })

  test('says where nothing listens, and what source there is', async () => {
    const folder = aFolder({ sources: { stripe: { provider: 'stripe', secrets: [SECRET] } } })

    const away = await run(folder, 1, ['stripe'])
    const unknown = await run(folder, 1, ['stirpe'])

    expect(away).toMatchObject({ code: 4 })
    expect(away.errors).toContain('http://127.0.0.1:1/in/stripe cannot be reached')
    expect(unknown).toMatchObject({ code: 2 })
    expect(unknown.errors).toContain('There is no source "stirpe", did you mean "stripe"?')
  })
})

async function run(folder: string, port: number, args: readonly string[]) {
  const cli = startCli(['trigger', ...args, '--port', String(port)], { folder })
  const { code } = await cli.gone
  return { code, output: cli.output(), errors: cli.errors() }
}

async function startGateway(url: string): Promise<{ folder: string; port: number }> {
  const folder = aFolder({
    sources: { stripe: { provider: 'stripe', secrets: [SECRET], forward: ['app'] } },
    destinations: { app: { url, allowPrivate: true } },
  })
  const cli = startCli(['start', '--port', '0'], { folder })
  const { receive } = await cli.untilLine('gateway.listening')
  await cli.untilLine('gateway.started')
  return { folder, port: (receive as { port: number }).port }
}

interface Received {
  readonly method: string
  readonly url: string
  readonly headers: Record<string, string>
  readonly body: Uint8Array
  readonly receivedAt: Date
}

async function listen(): Promise<{ url: string; deliveries: readonly Received[] }> {
  const deliveries: Received[] = []
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      deliveries.push({
        method: request.method ?? '',
        url: request.url ?? '',
        headers: request.headers as Record<string, string>,
        body: Buffer.concat(chunks),
        receivedAt: new Date(),
      })
      response.end('thank you')
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hooks`, deliveries }
}

function aFolder(config: object): string {
  const folder = mkdtempSync(join(tmpdir(), 'hookonce-trigger-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  writeFileSync(join(folder, 'hookonce.config.json'), JSON.stringify(config))
  return folder
}
