import { generateKeyPairSync } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import https from 'node:https'
import { connect, createServer } from 'node:net'
import type { AddressInfo, Server, Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { SENDERS } from '../support/egress/clients.ts'
import { openOutbox } from '../support/faults/outbox-under-fault.ts'
import { startSubject } from '../support/faults/start-subjects.ts'
import { makeCertificate } from '../support/make-certificate.ts'

const HERE = '127.0.0.1'
const DAY_MS = 86_400_000

describe.each(SENDERS)(
  'X15: on $engine through $client, a receiver whose certificate',
  (sender) => {
    const { engine, client } = sender

    test.each([
      ['holds', 'sent', {}, ''],
      ['is signed by itself', 'failed', { issuer: 'itself' }, 'self-signed'],
      ['is signed by a stranger', 'failed', { issuer: 'stranger' }, 'unable to verify'],
      ['has expired', 'failed', { until: new Date(Date.now() - DAY_MS) }, 'expired'],
      ['is not valid yet', 'failed', { from: new Date(Date.now() + DAY_MS) }, 'not yet valid'],
      ['is for another host', 'failed', { address: '127.0.0.9' }, 'altnames'],
      [
        'is signed by itself, where the environment asks for no checks',
        'failed',
        { issuer: 'itself' },
        'self-signed',
        { NODE_TLS_REJECT_UNAUTHORIZED: '0' },
      ],
    ] as const)(
      '%s: a message is %s',
      async (_what, expected, flaw, why, env: Environment = {}) => {
        const outbox = await openOutbox(engine)
        const { tls, authority } = issue(flaw)
        let requests = 0
        const server = https.createServer(tls, (_request, response) => {
          requests += 1
          response.end('ok')
        })
        const { port } = await listen(server)
        await outbox.write(1)

        // A process of its own, since it is when it starts that Node reads whom to trust.
        const relay = await startSubject(
          'relay',
          {
            store: outbox.database.store,
            sink: { url: `https://${HERE}:${port}/`, allow: [HERE], retry: { firstMs: 600_000 } },
            client,
            relay: {},
          },
          { env: { NODE_EXTRA_CA_CERTS: authority, ...env } },
        )
        await relay.untilHappened(`message.${expected}`)

        expect(requests).toBe(expected === 'sent' ? 1 : 0)
        if (expected === 'sent') return
        const [waiting] = await outbox.untilIn('ready')
        expect(waiting?.failures).toMatchObject([
          { reason: 'unreachable', message: expect.stringContaining(why) as string },
        ])
        expect(waiting?.uncertainSince).toBeUndefined()
      },
    )
  },
)

describe.each(SENDERS)(
  'through TLS, on $engine through $client, a receiver that',
  ({ engine, client }) => {
    test.each([
      ['ends the connection without a word', (sender: Socket) => sender.end()],
      ['sends what no key of TLS fits', (sender: Socket) => sender.write(FORGED_RECORD)],
    ])('read the request and %s may have taken the message', async (_how, breakOff) => {
      const outbox = await openOutbox(engine)
      const { tls, authority } = issue({})
      const senders = new Set<Socket>()
      let requests = 0
      const server = https.createServer(tls, (request) => {
        request.resume().on('end', () => {
          requests += 1
          for (const sender of senders) breakOff(sender)
        })
      })
      const { port } = await listen(server)
      // Between the two, since a server that speaks TLS cannot break it.
      const wire = createServer((sender) => {
        senders.add(sender)
        const receiver = connect(port, HERE)
        sender.pipe(receiver).pipe(sender)
        for (const end of [sender, receiver])
          end
            .on('error', () => undefined)
            .on('close', () => [sender, receiver].map((s) => s.destroy()))
      })
      const { port: wirePort } = await listen(wire)
      await outbox.write(1)

      const relay = await startSubject(
        'relay',
        {
          store: outbox.database.store,
          sink: { url: `https://${HERE}:${wirePort}/`, allow: [HERE], retry: { firstMs: 600_000 } },
          client,
          relay: {},
        },
        { env: { NODE_EXTRA_CA_CERTS: authority } },
      )
      await relay.untilHappened('message.failed')

      expect(requests).toBe(1)
      const [waiting] = await outbox.untilIn('ready')
      expect(waiting?.failures).toMatchObject([{ reason: 'interrupted' }])
      expect(waiting?.uncertainSince).toBeInstanceOf(Date)
    })
  },
)

/** The head of a record of application data in TLS 1.2 and 1.3, and no more than noise in it. */
const FORGED_RECORD = Buffer.concat([Buffer.from([23, 3, 3, 0, 64]), Buffer.alloc(64, 7)])

async function listen(server: Server): Promise<AddressInfo> {
  await new Promise<void>((resolve) => server.listen(0, HERE, resolve))
  onTestFinished(() => void server.close())
  return server.address() as AddressInfo
}

type Environment = Readonly<Record<string, string>>

interface Flaw {
  readonly issuer?: 'authority' | 'itself' | 'stranger'
  readonly from?: Date
  readonly until?: Date
  readonly address?: string
}

const AUTHORITY = generateKeyPairSync('rsa', { modulusLength: 2_048 })
const OWN = generateKeyPairSync('rsa', { modulusLength: 2_048 })

/** A certificate with at most one thing wrong, and the file of the authority that is trusted. */
function issue({ issuer = 'authority', address = HERE, ...times }: Flaw): {
  readonly tls: { readonly key: string; readonly cert: string }
  readonly authority: string
} {
  const folder = mkdtempSync(join(tmpdir(), 'hookonce-tls-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const valid = { from: new Date(Date.now() - DAY_MS), until: new Date(Date.now() + 2 * DAY_MS) }
  const authority = join(folder, 'authority.pem')
  writeFileSync(
    authority,
    makeCertificate({
      ...valid,
      subject: 'authority',
      publicKey: AUTHORITY.publicKey,
      issuer: 'authority',
      issuerKey: AUTHORITY.privateKey,
      isAuthority: true,
    }),
  )
  const cert = makeCertificate({
    ...valid,
    ...(times.until === undefined ? {} : { from: new Date(Date.now() - 2 * DAY_MS) }),
    ...times,
    subject: 'receiver',
    publicKey: OWN.publicKey,
    issuer: issuer === 'itself' ? 'receiver' : issuer,
    issuerKey: issuer === 'authority' ? AUTHORITY.privateKey : OWN.privateKey,
    addresses: [address],
  })
  const key = OWN.privateKey.export({ format: 'pem', type: 'pkcs8' }).toString()
  return { tls: { key, cert }, authority }
}
