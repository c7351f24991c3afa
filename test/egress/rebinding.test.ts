import http from 'node:http'
import { describe, expect, onTestFinished, test } from 'vitest'
import { parseAllowList } from '../../src/egress/allow-list.ts'
import { Egress } from '../../src/egress/egress.ts'
import type { EgressOptions } from '../../src/egress/options.ts'
import { createCheckedAgents } from '../../src/egress/checked-agent.ts'
import { ALLOWED, FORBIDDEN, startPair } from '../support/egress/canary.ts'
import { startDnsServer } from '../support/egress/dns-server.ts'

// The address that stands for a public one is allowed; the host's name is not.
const NAME = 'hooks.example.org'

function anEgress(options: EgressOptions): Egress {
  const egress = new Egress({ allow: [ALLOWED], ...options })
  onTestFinished(() => egress.close())
  return egress
}

/** By the agent itself, since a URL with a name and without TLS is no destination. */
function get(agent: http.Agent, options: http.RequestOptions): Promise<string> {
  return new Promise((resolve, reject) => {
    const request = http.get({ agent, path: '/', ...options }, (response) => {
      response.setEncoding('utf8').on('data', resolve)
    })
    request.on('error', (error: Error & { reason?: string }) => reject(error))
  })
}

function anAgent(options: Parameters<typeof createCheckedAgents>[0]): http.Agent {
  const agents = createCheckedAgents(options)
  onTestFinished(() => agents.http.destroy())
  return agents.http
}

const allowed = parseAllowList('egress.allow', [ALLOWED])

describe('a name that is bound to another address after the check', () => {
  test('gets to the canary with a client that checks and then connects by name', async () => {
    const { port, connections } = await startPair()
    const dns = await startDnsServer((_name, nth) => [nth === 0 ? ALLOWED : FORBIDDEN])
    const checked = await new Promise((resolve) => {
      dns.resolve(NAME, { all: true }, (_error, addresses) => resolve(addresses[0]?.address))
    })

    const answer = await get(new http.Agent({ lookup: dns.resolve as never }), {
      host: NAME,
      port,
      autoSelectFamily: true,
      lookup: dns.resolve as never,
    } as never)

    expect([checked, answer]).toEqual([ALLOWED, 'canary'])
    expect(connections).toEqual({ allowed: 0, canary: 1 })
  })

  test('never gets a connection: one look-up, and what it gave is what is connected to', async () => {
    const { port, connections } = await startPair()
    const dns = await startDnsServer((_name, nth) => [nth === 0 ? ALLOWED : FORBIDDEN])
    const agent = anAgent({ allowed, resolve: dns.resolve })

    const first = await get(agent, { host: NAME, port })
    const askedByFirst = dns.asked.length
    const others = await Promise.allSettled(
      Array.from({ length: 20 }, () => get(agent, { host: NAME, port })),
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
      const agent = anAgent({ allowed, resolve: dns.resolve })

      await expect(get(agent, { host: NAME, port })).rejects.toMatchObject({
        code: 'DESTINATION_BLOCKED',
        reason: 'loopback',
      })
      expect(connections).toEqual({ allowed: 0, canary: 0 })
    },
  )

  test('never gets a connection after a look-up that failed', async () => {
    const { port, connections } = await startPair()
    const dns = await startDnsServer((_name, nth) => (nth === 0 ? undefined : [FORBIDDEN]))
    const agent = anAgent({ allowed, resolve: dns.resolve })

    await expect(get(agent, { host: NAME, port })).rejects.toMatchObject({ code: 'ESERVFAIL' })
    expect(dns.asked).toHaveLength(1)
    expect(connections).toEqual({ allowed: 0, canary: 0 })
  })

  test('never gets a connection by having no address at all', async () => {
    const agent = anAgent({ allowed, resolve: (_name, _options, done) => done(null, []) })

    await expect(get(agent, { host: NAME, port: 1 })).rejects.toMatchObject({
      reason: 'unresolved',
    })
  })
})

describe('an address that is not public', () => {
  // Node calls no look-up for it, so a guard that is only a look-up would let it through.
  test('is not connected to as a literal', async () => {
    const { port, connections } = await startPair()
    const agent = anAgent({ allowed })

    await expect(get(agent, { host: FORBIDDEN, port })).rejects.toMatchObject({
      code: 'DESTINATION_BLOCKED',
      reason: 'loopback',
    })
    expect(connections.canary).toBe(0)
  })

  test.each([
    ['localhost as the system resolves it', { host: 'localhost' }, 'loopback'],
    ['an old notation, which the system would read as an address', { host: '127.1' }, 'loopback'],
    ['no host, which Node takes for this machine', { host: '' }, 'loopback'],
    ['a socket of this machine', { socketPath: '/var/run/docker.sock' }, 'socket'],
  ])('is not connected to as %s', async (_name, target, reason) => {
    const agent = anAgent({ allowed: parseAllowList('egress.allow', []) })

    await expect(get(agent, { port: 1, ...target })).rejects.toMatchObject({ reason })
  })

  test('is connected to under a host that was allowed by name, but for a metadata service', async () => {
    const { port, connections } = await startPair()
    const dns = await startDnsServer((_name, nth) => [nth === 0 ? FORBIDDEN : '169.254.169.254'])
    const egress = anEgress({ allow: [NAME], resolve: dns.resolve, requestTimeoutMs: 30_000 })
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
