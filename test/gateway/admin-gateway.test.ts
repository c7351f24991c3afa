import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { Validator } from '@seriousme/openapi-schema-validator'
import { describe, expect, onTestFinished, test } from 'vitest'
import { generateOpenApi } from '../../scripts/generate-openapi.ts'
import { isLoopback } from '../../src/gateway/admin/host-check.ts'
import { createRemoteOperator } from '../../src/gateway/admin/remote-operator.ts'
import { configSchema } from '../../src/gateway/config/schema.ts'
import { startGateway } from '../../src/gateway/gateway.ts'
import { createInbox } from '../../src/index.ts'
import { unsigned } from '../../src/providers/index.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import { exchange } from '../support/exchange.ts'
import { QUIET } from '../support/through-gateway.ts'

describe('the admin listener of a gateway', () => {
  test.each(['0.0.0.0', '::', '192.168.0.1', 'gateway.internal'])(
    'D02: does not go beyond this machine without a token: %s',
    async (host) => {
      await expect(start({ host })).rejects.toMatchObject({
        code: 'CONFIG_INVALID',
        message: expect.stringContaining('admin.token: it is missing') as string,
      })
    },
  )

  test('D02: without a word about it, it is on this machine alone', async () => {
    const { gateway } = await start({})

    expect(gateway.adminAddress?.address).toBe('127.0.0.1')
  })

  test('D02: goes beyond it with one, and answers nothing without it', async () => {
    const { gateway, url } = await start({ host: '0.0.0.0', token: 'a-token-of-the-config' })
    await using operator = createRemoteOperator({ url, token: 'a-token-of-the-config' })

    expect(gateway.adminAddress?.address).toBe('0.0.0.0')
    expect((await exchange(url, 'GET', '/api/v1/stats')).status).toBe(401)
    expect(await operator.countEvents()).toBe(0)
  })

  test('D14: is another one than that of the senders', async () => {
    const { gateway, url } = await start({})
    const senders = `http://127.0.0.1:${gateway.address?.port}`

    expect((await exchange(senders, 'GET', '/api/v1/stats')).status).toBe(404)
    expect((await exchange(url, 'POST', '/in/stripe', { body: {} })).status).toBe(404)
    expect((await exchange(url, 'GET', '/api/v1/stats')).status).toBe(200)
  })

  test('says to a supervisor without a token that a process lives and is ready, also one that receives nothing', async () => {
    const token = 'a-token-of-the-config'
    const { gateway, url } = await start({ roles: ['work', 'admin'], host: '0.0.0.0', token })
    const ask = async (path: string) => {
      const { status, json } = await exchange(url, 'GET', path)
      return { status, json }
    }
    expect(gateway.address).toBeUndefined()
    expect(await ask('/healthz')).toEqual({ status: 200, json: { status: 'ok' } })
    expect(await ask('/readyz')).toEqual({ status: 200, json: { status: 'ready' } })
    expect((await fetch(`${url}/readyz`, { method: 'HEAD' })).status).toBe(200)
    expect((await ask('/metrics')).status).toBe(401)

    await gateway.inbox.stop()

    expect(await ask('/healthz')).toEqual({ status: 200, json: { status: 'ok' } })
    expect(await ask('/readyz')).toEqual({ status: 503, json: { status: 'not ready' } })
  })

  test('D04: tells its health to no name that is not its own, and to no page of another site', async () => {
    const { url } = await start({})
    for (const path of ['/healthz', '/readyz']) {
      const named = await exchange(url, 'GET', path, { headers: { host: 'evil.example' } })
      const from = { headers: { origin: 'http://evil.example' } }
      expect([named.status, (await exchange(url, 'GET', path, from)).status]).toEqual([421, 403])
    }
  })

  test('is there only with its role, and is not moved by a reload', async () => {
    const { gateway, config } = await start({ roles: ['work'] })

    expect(gateway.adminAddress).toBeUndefined()
    expect(await gateway.reload({ ...config, admin: { ...config.admin, port: 1 } })).toEqual({
      status: 'refused',
      reason: 'admin cannot be changed while it runs',
    })
  })

  test('tells what happens in the inbox that a reload has put in place', async () => {
    const { gateway, config, url } = await start({})
    await gateway.reload(config)
    const response = await fetch(`${url}/api/v1/live`)
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()

    await gateway.inbox.admin.pause({ source: 'stripe' })

    let text = ''
    while (!text.includes('operator.acted')) text += (await reader.read()).value ?? ''
    await reader.cancel()
    expect(text).toContain('"action":"pause"')
  })

  test('tells what becomes of events in other processes over its store', async () => {
    const { gateway, url, store } = await start({ roles: ['admin'] })
    const response = await fetch(`${url}/api/v1/live`)
    const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader()
    const other = createInbox({
      store: sqliteStore(store),
      sources: { in: unsigned({ verify: 'none', key: 'header:x-id' }) },
      logger: QUIET,
    })
    onTestFinished(() => other.stop())
    const tried: string[] = []
    gateway.inbox.events.onAny((name) => void tried.push(name))
    other.on('in', '*', async () => undefined)
    await other.start()

    // Until one is told: the first look has to come before the event.
    let text = ''
    let read = reader.read()
    for (let n = 0; !text.includes('"state":"done"'); n += 1) {
      const request = { method: 'POST', headers: { 'x-id': `evt_${n}` }, body: '{}' }
      await other.fetch('in')(new Request('http://localhost/in', request))
      const { value } = await Promise.race([read, pause(500, { value: undefined })])
      if (value === undefined) continue
      text += value
      read = reader.read()
    }
    await reader.cancel()

    expect(text).toContain('event: event.seen')
    expect(text).toContain('"source":"in"')
    expect(tried.filter((name) => name.startsWith('event.'))).toEqual([])
  })

  test.each([
    ['localhost', true],
    ['127.8.9.1', true],
    ['::1', true],
    ['127.0.0.1.example.com', false],
    ['0.0.0.0', false],
    ['', false],
  ])('%j is on this machine: %s', (host, expected) => {
    expect(isLoopback(host)).toBe(expected)
  })
})

describe('docs/reference/openapi.json', () => {
  test('is what the routes say: npm run generate:openapi', async () => {
    for (const [file, text] of Object.entries(generateOpenApi()))
      expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual(JSON.parse(text))
  })

  test('is OpenAPI 3.1, and is served', async () => {
    const { url } = await start({})
    const { json } = await exchange(url, 'GET', '/api/openapi.json')

    const checked = await new Validator().validate(structuredClone(json))

    expect(checked).toMatchObject({ valid: true })
    expect(json['openapi']).toMatch(/^3\.1\./)
    expect(Object.keys(json['paths'] as object)).toContain('/api/v1/events/{eventId}/retry')
  })

  test('would not pass with a mistake in it', async () => {
    const [text = ''] = Object.values(generateOpenApi())
    const broken = text.replace('"in": "path"', '"in": "road"')

    expect(await new Validator().validate(broken)).toMatchObject({
      valid: false,
    })
  })
})

async function start({
  roles,
  ...admin
}: {
  readonly host?: string
  readonly token?: string
  readonly roles?: readonly string[]
}) {
  const folder = mkdtempSync(join(tmpdir(), 'hookonce-admin-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const config = configSchema.parse({
    store: 'sqlite:hookonce.db',
    receive: { port: 0 },
    admin: { port: 0, ...admin },
    ...(roles && { roles }),
    sources: { stripe: { provider: 'stripe', secrets: ['whsec_0123456789abcdef'] } },
  })
  const gateway = await startGateway({ config, folder, logger: QUIET })
  onTestFinished(() => gateway.stop())
  await gateway.untilStarted()
  const store = join(folder, 'hookonce.db')
  return { gateway, config, store, url: `http://127.0.0.1:${gateway.adminAddress?.port}` }
}
