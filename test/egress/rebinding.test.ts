import http from 'node:http'
import { describe, expect, onTestFinished, test } from 'vitest'
import { parseAllowList } from '../../src/egress/allow-list.ts'
import { Egress } from '../../src/egress/egress.ts'
import { createCheckedAgents } from '../../src/egress/checked-agent.ts'
import { createConnectionCheck } from '../../src/egress/connection-check.ts'
import type { CheckTerms } from '../../src/egress/connection-check.ts'
import type { CreateHttpClient, HttpClient } from '../../src/egress/http-client.ts'
import { ALLOWED, FORBIDDEN, startPair } from '../support/egress/canary.ts'
import { CLIENT_NAMES, CLIENTS } from '../support/egress/clients.ts'
import { startDnsServer } from '../support/egress/dns-server.ts'

// The address that stands for a public one is allowed; the host's name is not.
const NAME = 'hooks.example.org'

const CLIENT_CASES = CLIENT_NAMES.map((name) => ({ name, create: CLIENTS[name] }))

/** By the client itself, since a URL with a name and without TLS is no destination. */
async function get(client: HttpClient, host: string, port: number): Promise<string> {
  const url = new URL(`http://${host.includes(':') ? `[${host}]` : host}:${port}/`)
  // A connection of its own each time, so that each is resolved.
  const request = {
    url,
    method: 'GET',
    headers: { connection: 'close' },
    body: new Uint8Array(0),
  }
  return new Promise((resolve, reject) => {
    client.send(request, {
      onConnected: () => undefined,
      onHead: () => undefined,
      onData: (chunk) => resolve(Buffer.from(chunk).toString()),
      onEnd: () => undefined,
      onError: reject,
    })
  })
}

function aClient(create: CreateHttpClient, terms: CheckTerms): HttpClient {
  const client = create(createConnectionCheck(terms))
  onTestFinished(() => client.close())
  return client
}

/** By Node alone. */
function getByAgent(agent: http.Agent, options: http.RequestOptions): Promise<string> {
  return new Promise((resolve, reject) => {
    const request = http.get({ agent, path: '/', ...options }, (response) => {
      response.setEncoding('utf8').on('data', resolve)
    })
    request.on('error', reject)
  })
}

const allowed = parseAllowList('egress.allow', [ALLOWED])

describe('a name that is bound to another address after the check', () => {
  test('gets to the canary with a client that checks and then connects by name', async () => {
    const { port, connections } = await startPair()
    const dns = await startDnsServer((_name, nth) => [nth === 0 ? ALLOWED : FORBIDDEN])
    const checked = await new Promise((resolve) => {
      dns.resolve(NAME, { all: true }, (_error, addresses) => resolve(addresses[0]?.address))
    })

    const answer = await getByAgent(new http.Agent({ lookup: dns.resolve as never }), {
      host: NAME,
      port,
      autoSelectFamily: true,
      lookup: dns.resolve as never,
    } as never)

    expect([checked, answer]).toEqual([ALLOWED, 'canary'])
    expect(connections).toEqual({ allowed: 0, canary: 1 })
  })
})

describe.each(CLIENT_CASES)(
  'with $name, a name that is bound to another address after the check',
  ({ create }) => {
    test('never gets a connection: one look-up, and what it gave is what is connected to', async () => {
      const { port, connections } = await startPair()
      const dns = await startDnsServer((_name, nth) => [nth === 0 ? ALLOWED : FORBIDDEN])
      const client = aClient(create, { allowed, resolve: dns.resolve })

      const first = await get(client, NAME, port)
      const askedByFirst = dns.asked.length
      const others = await Promise.allSettled(
        Array.from({ length: 20 }, () => get(client, NAME, port)),
      )

      expect([first, askedByFirst]).toEqual(['ok', 1])
      expect(
        others.map((one) => one.status === 'rejected' && (one.reason as { reason: string }).reason),
      ).toEqual(Array.from({ length: 20 }, () => 'loopback'))
      expect(connections).toEqual({ allowed: 1, canary: 0 })
    })

    test.each([
      ['last', [ALLOWED, FORBIDDEN]],
      ['first', [FORBIDDEN, ALLOWED]],
    ])(
      'never gets a connection by one bad address among good ones, the %s',
      async (_name, answers) => {
        const { port, connections } = await startPair()
        const dns = await startDnsServer(() => answers)
        const client = aClient(create, { allowed, resolve: dns.resolve })

        await expect(get(client, NAME, port)).rejects.toMatchObject({
          code: 'DESTINATION_BLOCKED',
          reason: 'loopback',
        })
        expect(connections).toEqual({ allowed: 0, canary: 0 })
      },
    )

    test('never gets a connection after a look-up that failed', async () => {
      const { port, connections } = await startPair()
      const dns = await startDnsServer((_name, nth) => (nth === 0 ? undefined : [FORBIDDEN]))
      const client = aClient(create, { allowed, resolve: dns.resolve })

      await expect(get(client, NAME, port)).rejects.toMatchObject({ code: 'ESERVFAIL' })
      expect(dns.asked).toHaveLength(1)
      expect(connections).toEqual({ allowed: 0, canary: 0 })
    })

    test('never gets a connection by having no address at all', async () => {
      const client = aClient(create, {
        allowed,
        resolve: (_name, _options, done) => done(null, []),
      })

      await expect(get(client, NAME, 1)).rejects.toMatchObject({
        reason: 'unresolved',
      })
    })
  },
)

describe.each(CLIENT_CASES)('with $name, an address that is not public', ({ create }) => {
  // Node calls no look-up for it, so a guard that is only a look-up would let it through.
  test('is not connected to as a literal', async () => {
    const { port, connections } = await startPair()
    const client = aClient(create, { allowed })

    await expect(get(client, FORBIDDEN, port)).rejects.toMatchObject({
      code: 'DESTINATION_BLOCKED',
      reason: 'loopback',
    })
    expect(connections.canary).toBe(0)
  })

  test('is not connected to as localhost, which the system resolves', async () => {
    const client = aClient(create, { allowed: parseAllowList('egress.allow', []) })

    await expect(get(client, 'localhost', 1)).rejects.toMatchObject({ reason: 'loopback' })
  })

  test('is connected to under a host that was allowed by name, but for a metadata service', async () => {
    const { port, connections } = await startPair()
    const dns = await startDnsServer((_name, nth) => [nth === 0 ? FORBIDDEN : '169.254.169.254'])
    const options = { allow: [NAME], resolve: dns.resolve, requestTimeoutMs: 30_000 }
    const egress = new Egress(options, 'egress', create)
    onTestFinished(() => egress.close())
    const request = {
      url: `http://${NAME}:${port}/`,
      method: 'POST',
      // A connection of its own each time, so that each is resolved.
      headers: { connection: 'close' },
      body: Buffer.from('x'),
    }

    expect(await egress.request(request)).toMatchObject({ outcome: 'answered', status: 200 })
    expect(await egress.request(request)).toEqual({
      outcome: 'blocked',
      reason: 'metadata',
      host: NAME,
    })
    expect(connections).toEqual({ allowed: 0, canary: 1 })
  })
})

/** What no URL can say, and a program that uses the agent could. */
describe("with Node's agent, an address that is not public", () => {
  test.each([
    ['localhost as the system resolves it', { host: 'localhost' }, 'loopback'],
    ['an old notation, which the system would read as an address', { host: '127.1' }, 'loopback'],
    ['no host, which Node takes for this machine', { host: '' }, 'loopback'],
    ['a socket of this machine', { socketPath: '/var/run/docker.sock' }, 'socket'],
  ])('is not connected to as %s', async (_name, target, reason) => {
    const check = createConnectionCheck({ allowed: parseAllowList('egress.allow', []) })
    const agent = createCheckedAgents(check).http
    onTestFinished(() => agent.destroy())

    await expect(getByAgent(agent, { port: 1, ...target })).rejects.toMatchObject({ reason })
  })
})
