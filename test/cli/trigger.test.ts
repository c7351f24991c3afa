import { generateKeyPairSync } from 'node:crypto'
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { discord, hmac, stripe } from '../../src/providers/index.ts'
import { startCli, triggerUntilRan } from '../support/run-cli.ts'
import { startSink } from '../support/sink.ts'

const SECRET = 'whsec_0123456789abcdef'

describe('hookonce trigger', () => {
  test('sends one event ten times at once, of which a gateway makes one run', async () => {
    const sink = await startSink()
    const { folder, port } = await startGateway(sink.url)

    const args = ['stripe', 'invoice.paid', '--id', 'evt_1', '--times', '10', '--parallel']
    const { output } = await triggerUntilRan([...args, '--port', String(port)], { folder })

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

  test.each([['--bad-signature'], ['--old']])(
    '%s is refused, as it should be, and ends with 0',
    async (flag) => {
      const { folder, port } = await startGateway('https://example.com/')

      const { code, output } = await run(folder, port, ['stripe', 'invoice.paid', flag])

      expect(code).toBe(0)
      expect(output).toContain('1 × unauthorized')
      expect(output).not.toContain('event ')
    },
  )

  test('a forged event that an endpoint takes is a failure', async () => {
    const sink = await startSink()
    const forged = ['stripe', 'invoice.paid', '--bad-signature', '--to', sink.url]
    const { folder, port } = await startGateway('https://example.com/')

    expect((await run(folder, port, forged)).code).toBe(1)
  })

  test('says how often the handler ran behind any endpoint, where a store or a gateway is named', async () => {
    const sink = await startSink()
    const { folder, port, admin } = await startGateway(sink.url)
    const to = ['--to', `http://127.0.0.1:${port}/in/stripe`]
    const elsewhere = aFolder({})
    let nth = 0
    const send = async (...words: string[]) => {
      const args = [
        'stripe',
        'invoice.paid',
        '--id',
        `evt_${nth++}`,
        '--times',
        '2',
        ...to,
        ...words,
      ]
      const { output } = await triggerUntilRan([...args, '--secret', SECRET], { folder: elsewhere })
      return output.trim().split('\n').at(-1)
    }

    expect(await send('--store', `sqlite:${join(folder, '.hookonce/hookonce.db')}`)).toBe(
      '2 deliveries, 1 event, handler ran 1 time',
    )
    expect(await send('--url', `http://127.0.0.1:${admin}`)).toBe(
      '2 deliveries, 1 event, handler ran 1 time',
    )
    expect(await send()).toBe('2 deliveries, 1 event')
  })

  test('looks at no store that is not there, and makes none', async () => {
    const { folder, port } = await startGateway((await startSink()).url)
    const own = join(folder, 'own')
    mkdirSync(own)
    copyFileSync(join(folder, 'hookonce.config.json'), join(own, 'hookonce.config.json'))
    writeFileSync(join(own, 'empty.db'), '')

    const unnamed = await run(own, port, ['stripe', 'invoice.paid'])
    const named = await run(own, port, ['stripe', 'invoice.paid', '--store', 'sqlite:none.db'])
    const empty = await run(own, port, ['stripe', 'invoice.paid', '--store', 'sqlite:empty.db'])

    for (const { output } of [unnamed, named, empty])
      expect(output.trim().split('\n').at(-1)).toBe('1 delivery, 1 event')
    expect([unnamed.code, named.code, empty.code]).toEqual([0, 4, 4])
    expect(unnamed.errors).toContain('What became of it cannot be told: There is no database at')
    expect(named.errors).toContain('There is no database at')
    expect(empty.errors).toContain('hookonce migrate')
    expect(existsSync(join(own, '.hookonce'))).toBe(false)
    expect(existsSync(join(own, 'none.db'))).toBe(false)
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
    expect(output).toContain('1 delivery, 1 event')
    const [delivery] = received.deliveries
    const { ok } = await stripe({ secrets: [SECRET] }).verify(delivery!)
    expect(ok).toBe(true)
  })

  test('signs with a private key, for a source that has its public key', async () => {
    const { publicKey, privateKey } = generateKeyPairSync('ed25519')
    const folder = aFolder({})
    const received = await listen()
    writeFileSync(join(folder, 'key.pem'), privateKey.export({ format: 'pem', type: 'pkcs8' }))
    writeFileSync(join(folder, 'text'), 'no key')
    const send = (...words: string[]) => run(folder, 0, [...words, '--to', received.url])

    const sent = await send('discord', '--private-key', 'key.pem')
    const forged = await send('discord', '--private-key', 'key.pem', '--bad-signature')
    const refused = [
      await send('discord', '--secret', SECRET),
      await send('stripe', '--private-key', 'key.pem'),
      await send('sendgrid', '--private-key', 'key.pem'),
      await send('openai', '--private-key', 'key.pem', '--secret', SECRET),
      await send('discord', '--private-key', 'text'),
      await send('github', '--secret', SECRET, '--old'),
    ]

    const pem = publicKey.export({ format: 'pem', type: 'spki' }).toString()
    const verdicts: boolean[] = []
    for (const one of received.deliveries)
      verdicts.push((await discord({ publicKey: pem }).verify(one)).ok)
    expect([sent.code, forged.code]).toEqual([0, 1])
    expect(verdicts).toEqual([true, false])
    expect(refused.map(({ code }) => code)).toEqual(refused.map(() => 2))
    expect(refused.map(({ errors }) => errors)).toEqual([
      expect.stringContaining('Make a pair of keys (ed25519) of your own'),
      expect.stringContaining('stripe does not sign with a private key'),
      expect.stringContaining('a key of the kind ec, and this is one of the kind ed25519'),
      expect.stringContaining('an event is signed with one of them'),
      expect.stringContaining('a private key in PEM'),
      expect.stringContaining('--old: github signs no time'),
    ])
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

  test('sends what is in a file, changed as it is told to', async () => {
    const folder = aFolder({})
    const received = await listen()
    const send = (...words: string[]) =>
      run(folder, 0, ['stripe', ...words, '--secret', SECRET, '--to', received.url])
    writeFileSync(join(folder, 'paid.json'), '{"id":"evt_1","type":"invoice.paid","amount":1}')
    writeFileSync(join(folder, 'text'), 'no JSON')

    const changed = await send('--file', 'paid.json', '--set', '$.amount=2')
    const other = await send('invoice.voided', '--file', 'paid.json')
    const unchangeable = await send('--file', 'text', '--set', '$.amount=2')
    const missing = await send('--file', 'nosuch.json')

    expect(changed.code).toBe(0)
    expect(received.deliveries.map(({ body }) => Buffer.from(body).toString())).toEqual([
      '{"id":"evt_1","type":"invoice.paid","amount":2}',
    ])
    expect([other.code, unchangeable.code, missing.code]).toEqual([2, 2, 2])
    expect(other.errors).toContain('--file: its payload says something else than the type')
    expect(unchangeable.errors).toContain('the payload of --file is neither')
    expect(missing.errors).toContain('--file: the file nosuch.json cannot be read: ENOENT')
  })

  test('says why the handlers of an event did not run', async () => {
    const sink = await startSink()
    const { folder, port } = await startGateway(sink.url)
    await run(folder, port, ['stripe', 'invoice.paid', '--id', 'evt_1'])

    const { output } = await run(folder, port, [
      ...['stripe', 'invoice.paid', '--id', 'evt_1', '--set', '$.data.object.amount=2'],
    ])

    expect(output).toMatch(/^event [\da-f-]{36} is conflict: .+$/m)
    expect(output).toContain('1 delivery, 1 event, handler ran 0 times')
  })

  test('does not wait for an answer that has no end', async () => {
    const server = createServer((request, response) => {
      const write = (): void => {
        while (!response.destroyed && response.write('x'.repeat(65_536)));
      }
      response.on('drain', write)
      request.resume().on('end', write)
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => server.close().closeAllConnections())
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`

    const { code, output } = await run(aFolder({}), 0, [
      ...['stripe', '--secret', SECRET, '--to', url],
    ])

    expect([code, output]).toEqual([0, '1 × answered 200\n1 delivery, 1 event\n'])
  })

  test('D10: lets nothing that an endpoint answers steer the terminal', async () => {
    const hostile = '\u001b[2J\u009b31m\u202egnp.exe\u2028\nend'
    const answer = JSON.stringify({ status: hostile, event: hostile })
    const { url } = await listen(answer)
    const send = (...words: string[]) =>
      run(aFolder({}), 0, ['stripe', '--secret', SECRET, '--to', url, ...words])

    const outputs = [(await send()).output, (await send('--json')).output]

    for (const output of outputs) {
      expect(output).toContain('\\u009b31m\\u202egnp.exe\\u2028')
      expect(output).not.toMatch(/[^\x20-\x7e\n×]|^end/m)
    }
    expect(JSON.parse(outputs[1] ?? '')).toMatchObject({ answers: [{ outcome: hostile }] })
  })

  test.each(['nonsense', 'ftp://example.com/', '/in/stripe', 'https://me:canary@example.com/'])(
    'does not send to %s',
    async (to) => {
      const { code, errors } = await run(aFolder({}), 0, ['stripe', '--secret', SECRET, '--to', to])

      expect(code).toBe(2)
      expect(errors).not.toContain('canary')
      expect(errors).toContain('--to must be a URL such as https://example.com/webhooks')
    },
  )

  test('says where nothing listens, and what source there is', async () => {
    const folder = aFolder({ sources: { stripe: { provider: 'stripe', secrets: [SECRET] } } })

    const away = await run(folder, 1, ['stripe'])
    const secret = await run(folder, 0, ['stripe', '--to', 'http://127.0.0.1:1/in?token=canary'])
    const unknown = await run(folder, 1, ['stirpe'])

    expect(away).toMatchObject({ code: 4 })
    expect(away.errors).toContain('http://127.0.0.1:1/in/stripe cannot be reached')
    expect(secret.errors).toContain('http://127.0.0.1:1/in?token=*** cannot be reached')
    expect(unknown).toMatchObject({ code: 2 })
    expect(unknown.errors).toContain('There is no source "stirpe", did you mean "stripe"?')
  })
})

async function run(folder: string, port: number, args: readonly string[]) {
  const place = args.includes('--to') ? [] : ['--port', String(port)]
  const cli = startCli(['trigger', ...args, ...place], { folder })
  const { code } = await cli.gone
  return { code, output: cli.output(), errors: cli.errors() }
}

async function startGateway(url: string) {
  const folder = aFolder({
    sources: { stripe: { provider: 'stripe', secrets: [SECRET], forward: ['app'] } },
    destinations: { app: { url, allowPrivate: true, unsigned: true } },
  })
  const cli = startCli(['start', '--port', '0', '--admin-port', '0'], { folder })
  const { receive, admin } = await cli.untilLine('gateway.listening')
  await cli.untilLine('gateway.started')
  return {
    folder,
    port: (receive as { port: number }).port,
    admin: (admin as { port: number }).port,
  }
}

interface Received {
  readonly method: string
  readonly url: string
  readonly headers: Record<string, string>
  readonly body: Uint8Array
  readonly receivedAt: Date
}

async function listen(
  answer = 'thank you',
): Promise<{ url: string; deliveries: readonly Received[] }> {
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
      response.end(answer)
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
