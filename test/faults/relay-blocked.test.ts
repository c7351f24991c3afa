import { describe, expect, test } from 'vitest'
import { httpDestination } from '../../src/outbox/http-destination.ts'
import { ALLOWED, FORBIDDEN, startPair } from '../support/egress/canary.ts'
import { startDnsServer } from '../support/egress/dns-server.ts'
import { CLIENTS, SENDERS } from '../support/egress/clients.ts'
import { AT_ONCE, openOutbox } from '../support/faults/outbox-under-fault.ts'

describe('X10: a destination', () => {
  test.each([
    'https://127.1/',
    'https://0x7f.1/',
    'https://2130706433/',
    'https://[::ffff:169.254.169.254]/',
    'https://100.64.0.1/',
    'https://[64:ff9b::7f00:1]/',
    'https://[2002:7f00:1::]/',
    'https://0.0.0.0/',
    'https://①②⑦.0.0.1/',
    'https://user@example.com/',
    'file:///etc/passwd',
    'http://example.com/',
    'https://localhost/',
  ])('at %s is refused when it is configured', (url) => {
    expect(() => httpDestination('sink', { url })).toThrow(
      expect.objectContaining({ code: 'DESTINATION_BLOCKED' }),
    )
  })
})

describe.each(SENDERS)('on $engine through $client, a message', ({ engine, client: name }) => {
  const client = CLIENTS[name]

  test('X10, X11: to a name that leads to a private address is dead, and nothing is connected to', async () => {
    const outbox = await openOutbox(engine)
    const { port, connections } = await startPair()
    const dns = await startDnsServer(() => [FORBIDDEN])
    await outbox.write(1)

    await outbox.relay([
      httpDestination('sink', {
        url: `https://hooks.example.org:${port}/`,
        resolve: dns.resolve,
        retry: AT_ONCE,
        client,
      }),
    ])
    const [dead] = await outbox.untilIn('dead')

    expect(dead).toMatchObject({ reason: 'blocked destination', attempts: 1 })
    expect(dead?.failures[0]?.message).toContain('the option allow: ["hooks.example.org"]')
    expect(dead?.uncertainSince).toBeUndefined()
    expect(connections).toEqual({ allowed: 0, canary: 0 })
  })

  test('X11: to a name that is bound anew between attempts never reaches the canary', async () => {
    const outbox = await openOutbox(engine)
    const { port, connections } = await startPair()
    const dns = await startDnsServer((_name, nth) => [nth === 0 ? ALLOWED : FORBIDDEN])
    await outbox.write(1)

    await outbox.relay([
      httpDestination('sink', {
        url: `https://hooks.example.org:${port}/`,
        allow: [ALLOWED],
        resolve: dns.resolve,
        retry: AT_ONCE,
        client,
      }),
    ])
    const [dead] = await outbox.untilIn('dead')

    // The first attempt found no TLS there; the second was not let through.
    expect(dead?.failures.map(({ reason }) => reason).at(-1)).toBe('blocked')
    expect(connections.canary).toBe(0)
  })

  test('X12: to a name that cannot be resolved now is not sent, and tried again', async () => {
    const outbox = await openOutbox(engine)
    const { port, connections } = await startPair()
    let lookUps = 0
    await outbox.write(1)

    await outbox.relay([
      httpDestination('sink', {
        url: `https://hooks.example.org:${port}/`,
        allow: [ALLOWED],
        retry: { ...AT_ONCE, attemptsMax: 3 },
        client,
        resolve: (_hostname, _options, callback) => {
          lookUps += 1
          callback(Object.assign(new Error('SERVFAIL'), { code: 'ESERVFAIL' }), [])
        },
      }),
    ])
    const [dead] = await outbox.untilIn('dead')

    expect(dead?.failures.map(({ reason }) => reason)).toEqual(Array(3).fill('unreachable'))
    expect(dead?.uncertainSince).toBeUndefined()
    expect(lookUps).toBe(3)
    expect(connections).toEqual({ allowed: 0, canary: 0 })
  })

  test('X12: to a name whose look-up fails once, and then leads to a private address, never gets there', async () => {
    const outbox = await openOutbox(engine)
    const { port, connections } = await startPair()
    const dns = await startDnsServer((_name, nth) => (nth === 0 ? undefined : [FORBIDDEN]))
    await outbox.write(1)

    await outbox.relay([
      httpDestination('sink', {
        url: `https://hooks.example.org:${port}/`,
        resolve: dns.resolve,
        retry: AT_ONCE,
        client,
      }),
    ])
    const [dead] = await outbox.untilIn('dead')

    expect(dead?.failures.map(({ reason }) => reason)).toEqual(['unreachable', 'blocked'])
    expect(connections).toEqual({ allowed: 0, canary: 0 })
  })
})
