import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import https from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { httpDestination } from '../../src/outbox/http-destination.ts'
import { ALLOWED, FORBIDDEN, startPair } from '../support/egress/canary.ts'
import { startDnsServer } from '../support/egress/dns-server.ts'
import { ENGINES } from '../support/faults/fault-database.ts'
import { AT_ONCE, openOutbox } from '../support/faults/outbox-under-fault.ts'
import { startSubject } from '../support/faults/start-subjects.ts'
import { until } from '../support/faults/until.ts'

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

describe.each(ENGINES)('on %s a message', (engine) => {
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
      }),
    ])
    const [dead] = await outbox.untilIn('dead')

    expect(dead).toMatchObject({ reason: 'blocked destination', attempts: 1 })
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
})

describe.skipIf(!hasOpenssl())('X15: a certificate', () => {
  test.each([
    ['that holds', 'good', 'sent'],
    ['of nobody we trust', 'stranger', 'failed'],
    ['that has expired', 'expired', 'failed'],
    ['for another host', 'other-host', 'failed'],
  ] as const)('%s: a message is %s', async (_what, kind, expected) => {
    const outbox = await openOutbox('sqlite')
    const certificates = makeCertificates()
    let requests = 0
    const server = https.createServer(certificates[kind], (_request, response) => {
      requests += 1
      response.end('ok')
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void server.close())
    const { port } = server.address() as AddressInfo
    await outbox.write(1)

    const relay = await startSubject(
      'relay',
      {
        store: outbox.database.store,
        sink: {
          url: `https://127.0.0.1:${port}/`,
          allow: ['127.0.0.1'],
          retry: { firstMs: 600_000 },
        },
        relay: {},
      },
      { env: { NODE_EXTRA_CA_CERTS: certificates.authority } },
    )
    await relay.untilHappened(`message.${expected}`)

    expect(requests).toBe(expected === 'sent' ? 1 : 0)
    if (expected === 'sent') return
    await until('it waits again', async () => (await outbox.list('ready')).length === 1)
    const [waiting] = await outbox.list('ready')
    expect(waiting?.failures[0]?.reason).toBe('unreachable')
    expect(waiting?.uncertainSince).toBeUndefined()
  })
})

function hasOpenssl(): boolean {
  try {
    execFileSync('openssl', ['version'], { stdio: 'ignore' })
    return true
  } catch {
    console.warn('*** openssl is not installed: X15 is SKIPPED. ***')
    return false
  }
}

interface Certificate {
  readonly key: Buffer
  readonly cert: Buffer
}

/** An authority that the relay trusts, and certificates with one thing wrong each. */
function makeCertificates() {
  const folder = mkdtempSync(join(tmpdir(), 'hookonce-tls-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const at = (name: string) => join(folder, name)
  const openssl = (...args: string[]) => execFileSync('openssl', args, { stdio: 'pipe' })
  const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes']
  const authority = (name: string) =>
    openssl(
      'req',
      '-x509',
      ...newKey,
      '-keyout',
      at(`${name}.key`),
      '-out',
      at(`${name}.pem`),
      '-subj',
      `/CN=${name}`,
      '-days',
      '2',
    )
  const issue = (name: string, by: string, address: string, dates: string[]): Certificate => {
    openssl(
      'req',
      '-new',
      ...newKey,
      '-keyout',
      at(`${name}.key`),
      '-out',
      at(`${name}.csr`),
      '-subj',
      `/CN=${name}`,
    )
    writeFileSync(at(`${name}.ext`), `subjectAltName=IP:${address}\n`)
    openssl(
      'x509',
      '-req',
      '-in',
      at(`${name}.csr`),
      '-CA',
      at(`${by}.pem`),
      '-CAkey',
      at(`${by}.key`),
      '-CAcreateserial',
      '-out',
      at(`${name}.pem`),
      '-extfile',
      at(`${name}.ext`),
      ...dates,
    )
    return { key: readFileSync(at(`${name}.key`)), cert: readFileSync(at(`${name}.pem`)) }
  }
  authority('ca')
  authority('nobody')
  return {
    authority: at('ca.pem'),
    good: issue('good', 'ca', '127.0.0.1', ['-days', '1']),
    stranger: issue('stranger', 'nobody', '127.0.0.1', ['-days', '1']),
    expired: issue('expired', 'ca', '127.0.0.1', ['-days', '-1']),
    'other-host': issue('other-host', 'ca', '127.0.0.9', ['-days', '1']),
  }
}
