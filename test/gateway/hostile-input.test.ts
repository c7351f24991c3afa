import { createHmac } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { configSchema } from '../../src/gateway/config/schema.ts'
import { startGateway } from '../../src/gateway/gateway.ts'
import { sign } from '../../src/testing/index.ts'
import { exchange } from '../support/exchange.ts'
import { startSink } from '../support/sink.ts'
import type { Sink } from '../support/sink.ts'
import { QUIET } from '../support/through-gateway.ts'

const SECRET = 'whsec_0123456789abcdef'
const TWILIO_SECRET = 'a-secret-of-some-length'
const PUBLIC_URL = 'https://hooks.example.com/in/twilio'

describe('a gateway', () => {
  test('R40: checks a signed URL against the one of its config, whatever a request says of its host', async () => {
    const { receiveUrl } = await start()
    const callFor = (signedUrl: string, headers: Record<string, string>) =>
      exchange(receiveUrl, 'POST', '/in/twilio', {
        text: 'CallSid=CA1',
        headers: {
          'content-type': 'application/x-www-form-urlencoded',
          'x-twilio-signature': createHmac('sha1', TWILIO_SECRET)
            .update(`${signedUrl}CallSidCA1`)
            .digest('base64'),
          ...headers,
        },
      })
    const spoofed = {
      host: 'evil.example',
      'x-forwarded-host': 'evil.example',
      'x-forwarded-proto': 'https',
      'x-forwarded-for': '127.0.0.1',
      forwarded: 'host=evil.example;proto=https',
    }

    const [forged, real] = [
      await callFor('https://evil.example/in/twilio', spoofed),
      await callFor(PUBLIC_URL, spoofed),
    ]

    expect([forged.status, real.status]).toEqual([401, 200])
  })

  test.each([['"10 MBB"'], ['-1'], ['0'], ['1.5'], ['null'], ['"1048576"']])(
    'R36: does not take a limit that is none: bodyBytesMax %s',
    (text) => {
      const receive = { bodyBytesMax: JSON.parse(text) as unknown }

      expect(configSchema.safeParse({ receive }).error?.issues).toMatchObject([
        { path: ['receive', 'bodyBytesMax'] },
      ])
    },
  )

  test('D13: is not changed by names that every object has, in a payload, a query or a body', async () => {
    const sink = await startSink()
    const { receiveUrl, adminUrl } = await start({ sink })
    const pollute = '{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}'
    const { headers, body } = sign(
      'stripe',
      { key: 'evt_1', body: JSON.parse(`{"id":"evt_1","data":${pollute}}`) as object },
      { secret: SECRET },
    )

    const delivered = await exchange(receiveUrl, 'POST', '/in/stripe?__proto__[polluted]=1', {
      text: Buffer.from(body).toString(),
      headers: headers as Record<string, string>,
    })
    await sink.untilRequests(1)
    const asked = [
      await exchange(adminUrl, 'GET', '/api/v1/events?__proto__[polluted]=1'),
      await exchange(adminUrl, 'GET', '/api/v1/events?filter=__proto__:x'),
      await exchange(adminUrl, 'GET', '/api/v1/__proto__'),
      await exchange(adminUrl, 'POST', '/api/v1/pauses', { text: pollute }),
    ]

    expect(delivered.status).toBe(200)
    expect(asked.map(({ status }) => status)).toEqual([400, 400, 404, 400])
    expect({}).not.toHaveProperty('polluted')
    // A condition of the config looks at what the payload itself has.
    expect(sink.list().map(({ path }) => path)).toEqual(['/all'])
  })

  test('D14: tells strangers nothing by its health, and its metrics name no event', async () => {
    const { receiveUrl, adminUrl } = await start()
    const { headers, body } = sign(
      'stripe',
      { key: 'evt_canary', type: 'canary.type', body: { note: 'canary' } },
      { secret: SECRET },
    )
    await exchange(receiveUrl, 'POST', '/in/stripe', {
      text: Buffer.from(body).toString(),
      headers: headers as Record<string, string>,
    })

    const health = await exchange(receiveUrl, 'GET', '/healthz')
    const ready = await exchange(receiveUrl, 'GET', '/readyz')
    const outside = await exchange(receiveUrl, 'GET', '/metrics')
    const metrics = await exchange(adminUrl, 'GET', '/metrics')

    expect([health.json, ready.json]).toEqual([{ status: 'ok' }, { status: 'ready' }])
    expect(outside.status).toBe(404)
    expect(metrics.status).toBe(200)
    expect(metrics.headers).toMatchObject({
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
    })
    expect(metrics.body.toString()).toMatch(/hookonce_deliveries_total\{[^}]*accepted[^}]*\} 1/)
    expect(metrics.body.toString()).not.toContain('canary')
  })
})

async function start({ sink }: { readonly sink?: Sink } = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'hookonce-hostile-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const polluted = [{ path: '$.polluted', equals: true }]
  const config = configSchema.parse({
    receive: { port: 0 },
    admin: { port: 0 },
    store: 'sqlite:hookonce.db',
    sources: {
      stripe: {
        provider: 'stripe',
        secrets: [SECRET],
        forward: sink === undefined ? [] : ['all', { to: 'some', where: polluted }],
      },
      twilio: { provider: 'twilio', secrets: [TWILIO_SECRET], publicUrl: PUBLIC_URL },
    },
    destinations: sink && {
      all: { url: new URL('/all', sink.url).href, allowPrivate: true, unsigned: true },
      some: { url: new URL('/some', sink.url).href, allowPrivate: true, unsigned: true },
    },
  })
  const gateway = await startGateway({ config, folder, logger: QUIET })
  onTestFinished(() => gateway.stop())
  await gateway.untilStarted()
  return {
    receiveUrl: `http://127.0.0.1:${gateway.address?.port}`,
    adminUrl: `http://127.0.0.1:${gateway.adminAddress?.port}`,
  }
}
