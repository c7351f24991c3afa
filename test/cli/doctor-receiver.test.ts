import { createServer } from 'node:http'
import type { IncomingHttpHeaders, RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gunzipSync } from 'node:zlib'
import express from 'express'
import { describe, expect, onTestFinished, test } from 'vitest'
import { expressHandler } from '../../src/http/frameworks/express.ts'
import type { ReceivingInbox } from '../../src/http/node.ts'
import { createInbox } from '../../src/index.ts'
import { stripe } from '../../src/providers/index.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import { aFolder, runCommand } from '../support/run-command.ts'

const SECRET = 'whsec_0123456789abcdef'

describe('hookonce doctor --to', () => {
  test('finds that bodies arrive as they were sent, and leaves nothing behind', async () => {
    const { inbox, ran } = await anInbox()

    const { code, output } = await examine(await serve(expressOf(inbox)))

    expect(output).toMatch(
      /^ok +raw body +5 kinds of bodies arrive at 127.0.0.1:\d+ as they were sent$/,
    )
    expect(code).toBe(0)
    expect(await inbox.admin.countEvents()).toBe(0)
    expect(ran).toEqual([])
  })

  test.each<[string, Change, RegExp]>([
    [
      'parses JSON and writes it anew',
      ({ body, ...rest }) => ({ ...rest, body: rewrite(body) }),
      /^problem +raw body +the body \(plain, chunked\) is changed on its way: it was parsed as JSON and written anew/m,
    ],
    [
      'takes the line end away',
      ({ body, ...rest }) => ({
        ...rest,
        body: Buffer.from(body.toString('latin1').replace(/\n$/, ''), 'latin1'),
      }),
      /^problem +raw body +the body \(plain, chunked, form\) is changed on its way: the line end at its end was taken away/m,
    ],
    [
      'converts what is no UTF-8',
      ({ body, ...rest }) => ({ ...rest, body: body.toString('utf8') }),
      /^problem +raw body +the body \(bytes\) is changed on its way: 12 bytes were sent and \d+ arrived/m,
    ],
    [
      'takes headers away',
      ({ headers: { 'stripe-signature': _, ...headers }, body }) => ({ headers, body }),
      /^problem +raw body +something on the way takes headers away: stripe-signature$/m,
    ],
    [
      'unpacks',
      ({ headers: { 'content-encoding': encoding, ...headers }, body }) => ({
        headers,
        body: encoding === undefined ? body : gunzipSync(body),
      }),
      /^warning +raw body +something on the way unpacks compressed bodies$/m,
    ],
  ])('says what a proxy does that %s', async (_, change, words) => {
    const { inbox } = await anInbox()
    const proxy = await serve(proxyTo(await serve(expressOf(inbox)), change))

    const { code, output } = await examine(proxy)

    expect(output).toMatch(words)
    expect(output).toContain('docs/guides/raw-bodies.md')
    expect(code).toBe(output.includes('problem') ? 4 : 0)
    expect(await inbox.admin.countEvents()).toBe(0)
  })

  test('passes the hint on of a receiver below a parser', async () => {
    const { inbox } = await anInbox()
    const app = express().use(express.json())
    app.post('/hooks', expressHandler(inbox, 'stripe'))

    const { code, output } = await examine(await serve(app))

    expect(code).toBe(4)
    expect(output).toContain('the body is parsed before Hookonce sees its bytes')
    expect(output).toContain('Mount the route above the parser')
  })

  test.each<[string, RequestListener, string]>([
    ['says yes to all', (_, response) => response.end('ok'), 'without looking at the signature'],
    [
      'sends elsewhere',
      (_, response) => response.writeHead(308, { location: 'https://example.com/' }).end(),
      'answered 308: https://example.com/',
    ],
    ['has no such page', (_, response) => response.writeHead(404).end(), 'answered 404'],
    [
      'takes no body of this size',
      (_, response) => response.writeHead(413).end(),
      'takes no body of this size',
    ],
    [
      'has another time',
      (_, response) =>
        response.writeHead(401, { date: new Date(Date.now() - 3_600_000).toUTCString() }).end(),
      'its clock is 1 hour behind',
    ],
  ])('sends one probe and no more to what %s', async (_, answer, words) => {
    const bodies: string[] = []
    const url = await serve((request, response) => {
      request.setEncoding('utf8').on('data', (chunk: string) => bodies.push(chunk))
      request.on('end', () => answer(request, response))
    })

    const { code, output } = await examine(url)

    expect(output).toContain(words)
    expect(code).toBe(4)
    expect(bodies).toHaveLength(1)
    expect(bodies[0]).toContain('"type":"hookonce.probe"')
  })

  test('cannot be believed with another secret, and shows none', async () => {
    const { inbox } = await anInbox()
    const url = await serve(expressOf(inbox))

    const { code, output } = await examine(url, 'another_0123456789')

    expect(code).toBe(4)
    expect(output).toContain('answered 401: the probe was not believed')
    expect(output).not.toContain('0123456789')
  })

  test('says what it cannot do', async () => {
    const away = await examine('http://127.0.0.1:1/hooks')
    const unnamed = await runCommand(['doctor', '--to', 'http://127.0.0.1:1/hooks'])
    const noUrl = await runCommand(['doctor', '--to', 'example.com'])
    const password = await examine('https://kim:secret-word@127.0.0.1:1/hooks')
    const keys = await runCommand([
      'doctor',
      ...['--to', 'http://127.0.0.1:1/hooks', '--provider', 'discord'],
      ...['--option', `publicKey=${'a'.repeat(64)}`],
    ])

    expect(away.output).toMatch(/^problem +raw body +127.0.0.1:1 cannot be reached/)
    expect(unnamed.errors).toContain('Say whose signature it is')
    expect(password.errors).toContain('--to must be the URL that a sender has')
    expect(password.errors).not.toContain('secret-word')
    expect(noUrl.errors).toContain('--to must be the URL that a sender has')
    expect(keys.output).toMatch(/^warning +raw body +discord has no secret that both sides know/)
    expect([away.code, unnamed.code, noUrl.code, keys.code]).toEqual([4, 2, 2, 0])
  })
})

function examine(url: string, secret = SECRET) {
  return runCommand(['doctor', '--to', url, '--provider', 'stripe', '--secret', 'env:SECRET'], {
    environment: { SECRET: secret },
  })
}

async function anInbox() {
  const inbox = createInbox({
    store: sqliteStore(`${aFolder()}/inbox.db`),
    sources: { stripe: stripe({ secrets: [SECRET] }) },
  })
  const ran: string[] = []
  inbox.on('stripe', '*', (event) => void ran.push(event.type))
  await inbox.start()
  onTestFinished(() => inbox.stop())
  return { inbox, ran }
}

function expressOf(inbox: ReceivingInbox): RequestListener {
  return express().post('/hooks', expressHandler(inbox, 'stripe'))
}

interface Passed {
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer | string
}

type Change = (request: { headers: IncomingHttpHeaders; body: Buffer }) => Passed

/** Something in front that does not leave requests as they are. */
function proxyTo(target: string, change: Change): RequestListener {
  const pass: RequestListener = (request, response) => {
    void request.toArray().then(async (chunks) => {
      const { headers, body } = change({ headers: request.headers, body: Buffer.concat(chunks) })
      const own = ['host', 'connection', 'content-length', 'transfer-encoding']
      const others = Object.entries(headers).filter(([name]) => !own.includes(name))
      const answer = await fetch(target, {
        method: 'POST',
        headers: Object.fromEntries(others) as Record<string, string>,
        body: new Uint8Array(Buffer.from(body as string)),
      })
      response.writeHead(answer.status).end(await answer.text())
    })
  }
  return pass
}

function rewrite(body: Buffer): string | Buffer {
  try {
    return JSON.stringify(JSON.parse(body.toString()))
  } catch {
    return body
  }
}

async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => server.close().closeAllConnections())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/hooks`
}
